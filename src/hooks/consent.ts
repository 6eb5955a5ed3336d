/**
 * The programs of the configuration that may run. A user accepts each pair of event and command once (contract §2.7), and
 * again when the file of the program has changed. Otherwise everyone who can write the configuration could run programs.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'

export interface Consent {
  readonly event: string
  readonly command: string
  /** The hash of the program's files when it was accepted. If omitted, any content is accepted. */
  readonly program?: string | undefined
}

const consentFileSchema = z.object({
  allowed: z.array(z.looseObject({ event: z.string(), command: z.string(), program: z.string().optional() })),
})

function consentFilePath(home: string): string {
  return join(home, 'shell-hooks-allowlist.json')
}

/** Empty if the file is absent or invalid. Throws the system's error. */
export function readConsents(home: string): readonly Consent[] {
  const text = readTextIfExists(consentFilePath(home), 1_048_576)
  if (text === undefined) return []
  try {
    return consentFileSchema.parse(JSON.parse(text)).allowed
  } catch {
    // An invalid file accepts nothing, which is the safe default.
    return []
  }
}

/** Throws the system's error. */
export function writeConsents(home: string, allowed: readonly Consent[]): void {
  ensureDirectory(home)
  writeFileAtomic(consentFilePath(home), `${JSON.stringify({ allowed }, null, 2)}\n`)
}

/** Whether this command was accepted for this event, regardless of the content of its files. */
export function hasConsent({ event, command }: Consent, allowed: readonly Consent[]): boolean {
  return allowed.some((consent) => consent.event === event && consent.command === command)
}
