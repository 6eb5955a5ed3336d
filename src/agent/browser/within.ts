/**
 * The time limit of what a page does: a page whose script never ends does not answer.
 */
import { raceAbort, withTimeout } from '../../lib/timers.ts'
import { BrowserFailure } from './failure.ts'

/** Rejects as `work` does, with the reason of the signal, or with the `BrowserFailure` `page_hangs`. */
export async function within<T>(work: Promise<T>, limitMs: number, signal: AbortSignal): Promise<T> {
  const result = await withTimeout(raceAbort(work, signal), limitMs)
  if (result.done) return result.value
  throw new BrowserFailure('page_hangs', 'The page does not answer, so it was closed.')
}
