/**
 * Bounded waits: a call that was called off ends soon, even if something in it does not listen.
 */
import type { Logger } from '../lib/log.ts'
import { sleep, withTimeout } from '../lib/timers.ts'
import { catchTo } from './promises.ts'

export interface GracePeriodOptions {
  readonly signal: AbortSignal
  readonly graceMs: number
  /** The signal has aborted. */
  onAbort(): void
  /** Whether something runs that has to be waited for in any case: a tool may be in the middle of its work. */
  mustFinish(): boolean
  /** Nobody waits for the work any more. */
  onDetach(): void
}

/** Settles as the work does; after an abort, with the signal's reason once the time of grace is over. */
export function withGracePeriod<Value>(work: () => Promise<Value>, options: GracePeriodOptions): Promise<Value> {
  const { signal, graceMs } = options
  return new Promise((resolve, reject) => {
    let settled: AbortController | undefined
    const aborted = async (over: AbortSignal) => {
      options.onAbort()
      do {
        await sleep(graceMs, over)
        if (over.aborted) return
      } while (options.mustFinish())
      options.onDetach()
      reject(signal.reason)
    }
    const onAbortEvent = () => {
      settled = new AbortController()
      void aborted(settled.signal)
    }
    const cleanUp = () => {
      signal.removeEventListener('abort', onAbortEvent)
      settled?.abort()
    }
    signal.addEventListener('abort', onAbortEvent, { once: true })
    // The work begins when the signal is heard: it may be its own first step that aborts.
    work().then(
      (value) => {
        cleanUp()
        resolve(value)
      },
      (error) => {
        cleanUp()
        reject(error)
      },
    )
  })
}

/** Closes an iterator that may not listen. Never rejects: what goes wrong is logged. */
export async function closeWithGracePeriod(
  iterator: AsyncIterator<unknown, unknown, undefined>,
  what: string,
  { log, graceMs }: { readonly log: Logger; readonly graceMs: number },
): Promise<void> {
  const close = async () => {
    await iterator.return?.()
  }
  const closing = catchTo(close(), (error) => log.warn({ err: error }, `${what} failed when it was closed`))
  const closed = await withTimeout(closing, graceMs)
  if (!closed.done) log.warn({ graceMs }, `${what} does not end; it is left behind`)
}
