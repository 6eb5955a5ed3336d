/**
 * The bounded retries of a model call. The vendors' own retries are off: only this loop waits and tries again.
 */
import type { Logger } from '../../lib/log.ts'
import { backoffMs } from '../../lib/timers.ts'
import { ModelError } from './provider.ts'

export interface RetryDeps {
  readonly log: Logger
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly maxRetries: () => number
}

export interface RetryOptions<Answer> {
  readonly signal: AbortSignal
  /** Gets the number of tries before it. */
  attempt(retries: number): Promise<Answer>
  /** An attempt has failed, and another one follows after a pause. */
  onRetry(): void
}

/** A vendor may ask for a long pause; beyond this the person is told instead. */
const maxRetryDelayMs = 120_000

/**
 * Tries until it works, cannot, or the retries are used up. Rejects with the last `ModelError`, with anything else at once, or with the signal's reason when aborted.
 */
export async function retryModelCall<Answer>(
  deps: RetryDeps,
  { signal, attempt, onRetry: again }: RetryOptions<Answer>,
): Promise<Answer> {
  for (let retries = 0; ; retries++) {
    signal.throwIfAborted()
    try {
      return await attempt(retries)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ModelError) || !error.retryable || retries >= deps.maxRetries()) throw error
      const waitMs = error.retryAfterMs ?? backoffMs(retries + 1, 1_000, 30_000, deps.random)
      if (waitMs > maxRetryDelayMs) throw error
      deps.log.warn(
        { attempt: retries + 1, problem: error.kind, waitMs: Math.round(waitMs) },
        `model call failed, trying again: ${error.message}`,
      )
      again()
      await deps.sleep(waitMs, signal)
    }
  }
}
