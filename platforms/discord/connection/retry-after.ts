/**
 * For calls that nobody waits for: they wait as long as Discord says, and are made again.
 */
import { sleep } from '#sdk'
import { retryAfterMs } from '../errors.ts'

/** Rejects as the call does, except for rate limits, and when the signal aborts. */
export async function retryAfterRateLimit<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const waitMs = retryAfterMs(error)
      if (waitMs === undefined) throw error
      await sleep(waitMs, signal)
      signal.throwIfAborted()
    }
  }
}
