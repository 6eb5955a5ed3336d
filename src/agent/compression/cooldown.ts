/**
 * After a summary has failed, none is tried for a while in that session: 60 s, then 300 s, then 900 s (contract §4.3).
 */
import { createLruCache } from '../../lib/lru-cache.ts'

const cooldownsMs = [60_000, 300_000, 900_000]
/** Sessions that are remembered. */
const maxSessions = 1_000

export interface SummaryCooldown {
  isOver(sessionId: string, now: number): boolean
  /** Returns for how many ms nothing is tried. */
  recordFailure(sessionId: string, now: number): number
  recordSuccess(sessionId: string): void
}

export function createSummaryCooldown(): SummaryCooldown {
  const failures = createLruCache<{ readonly count: number; readonly until: number }>(maxSessions)
  return {
    isOver: (sessionId, now) => now >= (failures.get(sessionId)?.until ?? 0),
    recordFailure(sessionId, now) {
      const count = (failures.get(sessionId)?.count ?? 0) + 1
      const waitMs = cooldownsMs[Math.min(count, cooldownsMs.length) - 1] ?? 0
      failures.set(sessionId, { count, until: now + waitMs })
      return waitMs
    },
    recordSuccess: (sessionId) => failures.delete(sessionId),
  }
}
