/**
 * One way through the rest of a call: the call's own, or one that a `next` opened. It has a signal of its own, since an
 * intercept that settles calls off what its `next` still runs, and nothing else. Signals are made when somebody looks.
 */
export class CancellationScope {
  /** What runs further inside of it, to be called off with it. */
  inner: { cancel(reason: unknown): void } | undefined
  readonly #callerSignal: AbortSignal | undefined
  #controller: AbortController | undefined
  #aborted: { readonly reason: unknown } | undefined

  /** With the signal of the caller for the call's own; without, for those inside of it. */
  constructor(given?: AbortSignal) {
    this.#callerSignal = given
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

  /** Why it ended; undefined while it has not. */
  get reason(): unknown {
    return this.#aborted?.reason
  }

  /** Calls it off, with everything that runs inside of it. The signal of the caller is the caller's. */
  abort(reason: unknown): void {
    if (this.#aborted !== undefined) return
    this.#aborted = { reason }
    this.#controller?.abort(reason)
    this.inner?.cancel(reason)
  }
}
