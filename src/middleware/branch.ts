/**
 * One way through the rest of a call: the call's own, or one that a `next` opened. It has a signal of its own, since an
 * intercept that settles calls off what its `next` still runs, and nothing else. Signals are made when somebody looks.
 */
export class Branch {
  /** What runs further inside of it, to be called off with it. */
  inner: { callOff(reason: unknown): void } | undefined
  readonly #given: AbortSignal | undefined
  #controller: AbortController | undefined
  #ended: { readonly reason: unknown } | undefined

  /** With the signal of the caller for the call's own; without, for those inside of it. */
  constructor(given?: AbortSignal) {
    this.#given = given
  }

  get signal(): AbortSignal {
    if (this.#given !== undefined) return this.#given
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#ended !== undefined) this.#controller.abort(this.#ended.reason)
    }
    return this.#controller.signal
  }

  get ended(): boolean {
    return this.#ended !== undefined
  }

  /** Why it ended; undefined while it has not. */
  get reason(): unknown {
    return this.#ended?.reason
  }

  /** Calls it off, with everything that runs inside of it. The signal of the caller is the caller's. */
  abort(reason: unknown): void {
    if (this.#ended !== undefined) return
    this.#ended = { reason }
    this.#controller?.abort(reason)
    this.inner?.callOff(reason)
  }
}
