/**
 * Delays the next compression of a session after a failed summary: 60 s, then 300 s, then 900 s (contract §4.3).
 */
import { createLruCache } from '../../lib/cache.ts'

const cooldownsMs = [60_000, 300_000, 900_000]
/** Limit of the sessions whose failures are kept in memory. */
const maxSessions = 1_000

export interface SummaryCooldown {
  isOver(sessionId: string, now: number): boolean
  /** Returns the delay in ms. */
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
