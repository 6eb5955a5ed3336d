/**
 * Strange payloads in full number: for each platform with a folder in `test/replay`, so many payloads made of its own go
 * through its normalise function.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type PayloadReport, type ReplaySubject, readReplays, replayFolder, tryPayloads } from '../kit/replay.ts'

/** What one payload may cost at most, ms of CPU at best of three. */
const barMs = 50

export interface PlatformPayloads extends PayloadReport {
  readonly platform: string
  readonly replays: number
  /** Nothing failed, and the slowest payload was fast enough. */
  readonly kept: boolean
}

/** In the order of the platforms' names. Rejects where a folder has no subject. */
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

/** The platforms that have payloads to replay. */
export function replayedPlatforms(): string[] {
  const folder = replayFolder('')
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}

/** What `test/replay/<platform>/subject.ts` exports. */
export async function subjectOf(platform: string): Promise<ReplaySubject> {
  const loaded: { readonly subject?: ReplaySubject } = await import(join(replayFolder(platform), 'subject.ts'))
  if (loaded.subject === undefined) throw new Error(`test/replay/${platform}/subject.ts exports no subject`)
  return loaded.subject
}
