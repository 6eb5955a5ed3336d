/**
 * The time limit of what a page does: a page whose script never ends does not answer.
 */
import { raceAbort, withTimeout } from '../../lib/timers.ts'
import { BrowserError } from './browser-error.ts'

/** Rejects as `work` does, with the reason of the signal, or with the `BrowserError` `page_hangs`. */
export async function within<T>(work: Promise<T>, limitMs: number, signal: AbortSignal): Promise<T> {
  const result = await withTimeout(raceAbort(work, signal), limitMs)
  if (result.done) return result.value
  throw new BrowserError('page_hangs', 'The page does not answer, so it was closed.')
}
