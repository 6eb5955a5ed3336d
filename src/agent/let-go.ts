/**
 * Ends the wait for work that does not notice that its turn was stopped.
 */
import { within } from '../lib/wait.ts'

/** How long work may take to end once its signal has aborted; after that the turn ends without it. */
const letGoMs = 5_000

/** False when the signal aborted and the work did not end soon after. Rejects as the work rejects. */
export async function endsInTime(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  const aborted = Promise.withResolvers<void>()
  const note = () => aborted.resolve()
  if (signal.aborted) note()
  else signal.addEventListener('abort', note, { once: true })
  try {
    await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', note)
  }
  return !signal.aborted || (await within(work, letGoMs)).done
}
