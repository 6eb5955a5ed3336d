/**
 * Which programs of the configuration may run: each event with its command is accepted once, by a person (contract §2.7),
 * and again when the program's file is another one. The configuration may come from elsewhere; who can write it could
 * otherwise run anything.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'

export interface Consent {
  readonly event: string
  readonly command: string
  /** The fingerprint of the program's files when it was accepted; left out, they may hold whatever they hold. */
  readonly program?: string | undefined
}

const consentFileSchema = z.object({
  allowed: z.array(z.looseObject({ event: z.string(), command: z.string(), program: z.string().optional() })),
})

function consentFilePath(home: string): string {
  return join(home, 'shell-hooks-allowlist.json')
}

/** Nothing is accepted where the file is absent or cannot be read as what it should be. Throws the system's error. */
export function readConsents(home: string): readonly Consent[] {
  const text = readTextIfExists(consentFilePath(home), 1_048_576)
  if (text === undefined) return []
  try {
    return consentFileSchema.parse(JSON.parse(text)).allowed
  } catch {
    // Half a file, or somebody else's: nothing in it counts.
    return []
  }
}

/** Throws the system's error. */
export function writeConsents(home: string, allowed: readonly Consent[]): void {
  ensureDirectory(home)
  writeFileAtomic(consentFilePath(home), `${JSON.stringify({ allowed }, null, 2)}\n`)
}

/** Whether this command was accepted for this event, whatever its files held. */
export function hasConsent({ event, command }: Consent, allowed: readonly Consent[]): boolean {
  return allowed.some((one) => one.event === event && one.command === command)
}
