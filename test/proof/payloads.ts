/**
 * Unusual payloads in full number: for each platform with a directory in `test/replay`, this number of payloads
 * derived from its recordings is passed to its normalise function.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type PayloadReport, type ReplaySubject, readReplays, replayFolder, tryPayloads } from '../kit/replay.ts'

/** Limit for one payload, ms of CPU, best of three. */
const barMs = 50

export interface PlatformPayloads extends PayloadReport {
  readonly platform: string
  readonly replays: number
  /** Whether no payload failed and the slowest one was fast enough. */
  readonly kept: boolean
}

/** The results are in the order of the platform names. Rejects when a directory has no subject. */
export async function provePayloads(seed: number, count: number): Promise<PlatformPayloads[]> {
  const results: PlatformPayloads[] = []
  for (const platform of replayedPlatforms()) {
    const subject = await subjectOf(platform)
    const cases = readReplays(replayFolder(platform))
    const report = tryPayloads(subject, cases, { seed, count })
    const kept = report.failures.length === 0 && report.slowest.cpuMs < barMs
    results.push({ platform, replays: cases.length, ...report, kept })
  }
  return results
}

/** The platforms with recorded payloads. */
export function replayedPlatforms(): string[] {
  const folder = replayFolder('')
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}

/** The subject that `test/replay/<platform>/subject.ts` exports. */
export async function subjectOf(platform: string): Promise<ReplaySubject> {
  const loaded: { readonly subject?: ReplaySubject } = await import(join(replayFolder(platform), 'subject.ts'))
  if (loaded.subject === undefined) throw new Error(`test/replay/${platform}/subject.ts exports no subject`)
  return loaded.subject
}
