/**
 * Bounded waits: a call that was called off ends soon, even if something in it does not listen.
 */
import type { Logger } from '../lib/log.ts'
import { pause, within } from '../lib/wait.ts'
import { failureOf } from './awaiting.ts'

export interface Leave {
  readonly signal: AbortSignal
  readonly graceMs: number
  /** The signal has aborted. */
  aborted(): void
  /** Whether something runs that has to be waited for in any case: a tool may be in the middle of its work. */
  mustWait(): boolean
  /** Nobody waits for the work any more. */
  letGo(): void
}

/** Settles as the work does; after an abort, with the signal's reason once the time of grace is over. */
export function orLeave<Value>(work: () => Promise<Value>, leave: Leave): Promise<Value> {
  const { signal, graceMs } = leave
  return new Promise((resolve, reject) => {
    let settled: AbortController | undefined
    const aborted = async (over: AbortSignal) => {
      leave.aborted()
      do {
        await pause(graceMs, over)
        if (over.aborted) return
      } while (leave.mustWait())
      leave.letGo()
      reject(signal.reason)
    }
    const hear = () => {
      settled = new AbortController()
      void aborted(settled.signal)
    }
    const ended = () => {
      signal.removeEventListener('abort', hear)
      settled?.abort()
    }
    signal.addEventListener('abort', hear, { once: true })
    // The work begins when the signal is heard: it may be its own first step that aborts.
    work().then(
      (value) => {
        ended()
        resolve(value)
      },
      (error) => {
        ended()
        reject(error)
      },
    )
  })
}

/** Closes an iterator that may not listen. Never rejects: what goes wrong is logged. */
export async function closeInTime(
  iterator: AsyncIterator<unknown, unknown, undefined>,
  what: string,
  { log, graceMs }: { readonly log: Logger; readonly graceMs: number },
): Promise<void> {
  const close = async () => {
    await iterator.return?.()
  }
  const closing = failureOf(close(), (error) => log.warn({ err: error }, `${what} failed when it was closed`))
  const closed = await within(closing, graceMs)
  if (!closed.done) log.warn({ graceMs }, `${what} does not end; it is left behind`)
}
