/**
 * Cancellation of calls: the signals of a call and its branches, and the grace period after an abort. A call that was
 * aborted settles soon, even if some code in it ignores its signal.
 */
import type { Logger } from '../lib/log.ts'
import { onAbort, sleep, withTimeout } from '../lib/timers.ts'
import { catchTo } from './promises.ts'

/**
 * The signal of a call, or of one branch that an intercept opened with `next`. When an intercept settles, only the
 * branches it opened are aborted. Signals are created on first use.
 */
export class CancellationScope {
  /** Runs inside this scope and is cancelled with it. */
  inner: { cancel(reason: unknown): void } | undefined
  readonly #callerSignal: AbortSignal | undefined
  #controller: AbortController | undefined
  #aborted: { readonly reason: unknown } | undefined

  /** The scope of the call itself uses the signal of its caller; branches have a signal of their own. */
  constructor(callerSignal?: AbortSignal) {
    this.#callerSignal = callerSignal
  }

  get signal(): AbortSignal {
    if (this.#callerSignal !== undefined) return this.#callerSignal
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason)
    }
    return this.#controller.signal
  }

  get aborted(): boolean {
    return this.#aborted !== undefined
  }

  /** `undefined` until the scope is aborted. */
  get reason(): unknown {
    return this.#aborted?.reason
  }

  /** Aborts the scope and everything inside it. Only the caller aborts the caller's signal. */
  abort(reason: unknown): void {
    if (this.#aborted !== undefined) return
    this.#aborted = { reason }
    this.#controller?.abort(reason)
    this.inner?.cancel(reason)
  }
}

export interface AbortOptions {
  readonly signal: AbortSignal | undefined
  readonly graceMs: number
  onAbort(): void
  /** Whether the call must wait for running code in any case: a tool may be in the middle of a side effect. */
  mustFinish(): boolean
  /** The grace period is over; the call settles although its work has not. */
  onDetach(): void
}

/** Settles as the work does. After an abort, rejects with the signal's reason once the grace period is over. */
export function runWithAbort<Value>(work: () => Promise<Value>, options: AbortOptions): Promise<Value> {
  const { signal, graceMs } = options
  if (signal === undefined) return work()
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    let settled: AbortController | undefined
    const waitForGrace = async (over: AbortSignal) => {
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
      void waitForGrace(settled.signal)
    }
    // Listens before the work starts, because its first step may abort the signal.
    const removeListener = onAbort(signal, onAbortEvent)
    const cleanUp = () => {
      removeListener()
      settled?.abort()
    }
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

/** Logs that a call settled while code in it still runs. */
export function logDetached(log: Logger, kind: 'tool' | 'model', name: string, graceMs: number): void {
  log.warn(
    { event: 'middleware.call_detached', [kind]: name, graceMs },
    `a ${kind} call was aborted, but code in it ignores the signal and still runs`,
  )
}

/** Closes an iterator that may ignore it. Never rejects: failures are logged. */
export async function closeWithGracePeriod(
  iterator: AsyncIterator<unknown, unknown, undefined>,
  stream: string,
  { log, graceMs }: { readonly log: Logger; readonly graceMs: number },
): Promise<void> {
  const close = async () => {
    await iterator.return?.()
  }
  const closing = catchTo(close(), (error) =>
    log.warn({ event: 'middleware.stream_close_failed', stream, err: error }, 'a stream failed when it was closed'),
  )
  const closed = await withTimeout(closing, graceMs)
  if (!closed.done)
    log.warn({ event: 'middleware.stream_abandoned', stream, graceMs }, 'a stream ignores its close and is abandoned')
}
