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
