/**
 * Remembers that the disk is in trouble: everybody waits for a commit, so a slow one is worth telling.
 */
import type { Logger } from '../lib/log.ts'

export interface SlowCommits {
  /** Told how long each commit took, ms. Never throws. */
  record(durationMs: number): void
  /** Whether a slow one is recent enough to be shown as what is wrong now. */
  hasRecent(): boolean
}

export const slowCommitThresholdMs = 250
const recentWindowMs = 60_000

export function createSlowCommits({ clock, log }: { clock: () => number; log: Logger }): SlowCommits {
  let lastAt = Number.NEGATIVE_INFINITY
  return {
    record(durationMs) {
      if (durationMs < slowCommitThresholdMs) return
      lastAt = clock()
      log.warn({ ms: Math.round(durationMs) }, 'the disk is slow: a commit took long')
    },
    hasRecent: () => clock() - lastAt < recentWindowMs,
  }
}
