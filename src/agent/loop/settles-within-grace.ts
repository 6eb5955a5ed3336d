/**
 * Ends the wait for work that does not notice that its turn was stopped.
 */
import { withTimeout } from '../../lib/timers.ts'

/** How long work may take to end once its signal has aborted; after that the turn ends without it. */
const gracePeriodMs = 5_000

/** False when the signal aborted and the work did not end soon after. Rejects as the work rejects. */
export async function settlesWithinGrace(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  const aborted = Promise.withResolvers<void>()
  const onAbort = () => aborted.resolve()
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
  return !signal.aborted || (await withTimeout(work, gracePeriodMs)).done
}
