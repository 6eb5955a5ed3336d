/**
 * The right to run the rest of a call, as long as the intercept that got it has not settled. Every `next` is a way of its
 * own through the rest.
 */

import type { CallRun } from './call-run.ts'
import { CancellationScope } from './cancellation-scope.ts'
import type { Downstream } from './fail-open.ts'
import type { ErrorOrigin } from './failure-reporter.ts'
import { ignoreRejection } from './promises.ts'

class Invocation<Output> extends CancellationScope {
  readonly promise: Promise<Output>
  readonly resolve: (output: Output) => void
  readonly reject: (error: unknown) => void

  constructor() {
    super()
    const { promise, resolve, reject } = Promise.withResolvers<Output>()
    this.promise = promise
    this.resolve = resolve
    this.reject = reject
  }
}

export class NextHandle<Input, Output> implements Downstream {
  last: Promise<Output> | undefined
  result: { readonly value: Output } | undefined
  failure: { readonly error: unknown } | undefined
  readonly #run: CallRun
  readonly #owner: ErrorOrigin
  readonly #cancellation: CancellationScope
  readonly #start: (input: Input | undefined, way: CancellationScope) => Promise<Output>
  readonly #invocations: Invocation<Output>[] = []
  #revoked = false

  /** `start` runs the rest on a way; it must not throw. */
  constructor(
    run: CallRun,
    who: ErrorOrigin,
    branch: CancellationScope,
    start: (input: Input | undefined, way: CancellationScope) => Promise<Output>,
  ) {
    this.#run = run
    this.#owner = who
    this.#cancellation = branch
    this.#start = start
    branch.inner = this
  }

  /**
   * For the intercept. Rejects with `middleware/next-revoked` when the lease ends first, or has ended. A rejection that
   * nobody looks at does not end the process.
   */
  readonly next = (input?: Input): Promise<Output> => {
    if (this.#revoked || this.#cancellation.aborted) return this.#run.rejectNextRevoked(this.#owner)
    const way = new Invocation<Output>()
    this.#invocations.push(way)
    this.last = way.promise
    this.failure = undefined
    this.#start(input, way).then(
      (value) => {
        if (!this.#remove(way)) return
        this.result = { value }
        way.resolve(value)
      },
      (error) => {
        if (this.#remove(way)) this.#fail(way, error)
      },
    )
    return way.promise
  }

  /** The intercept has settled: what still runs is called off. May be called twice. */
  revoke(): void {
    this.#revoked = true
    if (this.#invocations.length === 0) return
    const refusal = this.#run.nextRevokedError(this.#owner)
    for (const way of this.#invocations.splice(0)) {
      this.#fail(way, refusal)
      way.abort(refusal)
    }
  }

  /** The call, or an intercept further out, has ended: what runs here hears of it by its signal. */
  cancel(reason: unknown): void {
    for (const way of this.#invocations) way.abort(reason)
  }

  #fail(way: Invocation<Output>, error: unknown): void {
    ignoreRejection(way.promise)
    this.failure = { error }
    this.#run.recordFailure(error)
    way.reject(error)
  }

  /** False when it was called off already. */
  #remove(way: Invocation<Output>): boolean {
    const at = this.#invocations.indexOf(way)
    if (at >= 0) this.#invocations.splice(at, 1)
    return at >= 0
  }
}
