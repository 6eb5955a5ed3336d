/**
 * The right to run the rest of a call, as long as the intercept that got it has not settled. Every `next` is a way of its
 * own through the rest.
 */
import { overlook } from './awaiting.ts'
import { Branch } from './branch.ts'
import type { CallRun } from './call-run.ts'
import type { Downstream } from './downstream.ts'
import type { Culprit } from './failures.ts'

class Way<Output> extends Branch {
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

export class Lease<Input, Output> implements Downstream {
  last: Promise<Output> | undefined
  result: { readonly value: Output } | undefined
  failure: { readonly error: unknown } | undefined
  readonly #run: CallRun
  readonly #who: Culprit
  readonly #branch: Branch
  readonly #start: (input: Input | undefined, way: Branch) => Promise<Output>
  readonly #ways: Way<Output>[] = []
  #ended = false

  /** `start` runs the rest on a way; it must not throw. */
  constructor(
    run: CallRun,
    who: Culprit,
    branch: Branch,
    start: (input: Input | undefined, way: Branch) => Promise<Output>,
  ) {
    this.#run = run
    this.#who = who
    this.#branch = branch
    this.#start = start
    branch.inner = this
  }

  /**
   * For the intercept. Rejects with `middleware/next-revoked` when the lease ends first, or has ended. A rejection that
   * nobody looks at does not end the process.
   */
  readonly next = (input?: Input): Promise<Output> => {
    if (this.#ended || this.#branch.ended) return this.#run.refuse(this.#who)
    const way = new Way<Output>()
    this.#ways.push(way)
    this.last = way.promise
    this.failure = undefined
    this.#start(input, way).then(
      (value) => {
        if (!this.#leave(way)) return
        this.result = { value }
        way.resolve(value)
      },
      (error) => {
        if (this.#leave(way)) this.#fail(way, error)
      },
    )
    return way.promise
  }

  /** The intercept has settled: what still runs is called off. May be called twice. */
  end(): void {
    this.#ended = true
    if (this.#ways.length === 0) return
    const refusal = this.#run.refusal(this.#who)
    for (const way of this.#ways.splice(0)) {
      this.#fail(way, refusal)
      way.abort(refusal)
    }
  }

  /** The call, or an intercept further out, has ended: what runs here hears of it by its signal. */
  callOff(reason: unknown): void {
    for (const way of this.#ways) way.abort(reason)
  }

  #fail(way: Way<Output>, error: unknown): void {
    overlook(way.promise)
    this.failure = { error }
    this.#run.failed(error)
    way.reject(error)
  }

  /** False when it was called off already. */
  #leave(way: Way<Output>): boolean {
    const at = this.#ways.indexOf(way)
    if (at >= 0) this.#ways.splice(at, 1)
    return at >= 0
  }
}
