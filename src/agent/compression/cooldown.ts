/**
 * After a summary has failed, none is tried for a while in that session: 60 s, then 300 s, then 900 s (contract §4.3).
 */
import { createRecent } from '../../lib/recent.ts'

const waitsMs = [60_000, 300_000, 900_000]
/** Sessions that are remembered. */
const limit = 1_000

export interface Cooldown {
  isOver(sessionId: string, now: number): boolean
  /** Returns for how many ms nothing is tried. */
  failed(sessionId: string, now: number): number
  succeeded(sessionId: string): void
}

export function createCooldown(): Cooldown {
  const failures = createRecent<{ readonly count: number; readonly until: number }>(limit)
  return {
    isOver: (sessionId, now) => now >= (failures.get(sessionId)?.until ?? 0),
    failed(sessionId, now) {
      const count = (failures.get(sessionId)?.count ?? 0) + 1
      const waitMs = waitsMs[Math.min(count, waitsMs.length) - 1] ?? 0
      failures.set(sessionId, { count, until: now + waitMs })
      return waitMs
    },
    succeeded: (sessionId) => failures.delete(sessionId),
  }
}
