/**
 * Reports slow commits, because every turn waits for them.
 */
import type { Logger } from '../lib/log.ts'

export interface SlowCommits {
  /** Receives the duration of a slow commit, ms. Never throws. */
  record(durationMs: number): void
  /** Whether the last slow commit is recent enough to be shown in the status. */
  hasRecent(): boolean
}

export const slowCommitMs = 250
const recentWindowMs = 60_000

export function createSlowCommits({ clock, log }: { clock: () => number; log: Logger }): SlowCommits {
  let lastAt = Number.NEGATIVE_INFINITY
  return {
    record(durationMs) {
      lastAt = clock()
      log.warn({ event: 'store.commit_slow', ms: Math.round(durationMs) }, 'the disk is slow: a commit took long')
    },
    hasRecent: () => clock() - lastAt < recentWindowMs,
  }
}
