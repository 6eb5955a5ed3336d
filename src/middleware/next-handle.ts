/**
 * `next`: what an intercept uses to run the rest of its call. It works until the intercept settles, or until the stream of a
 * stream intercept ends.
 */
import type { CallRun } from './call-run.ts'
import { CancellationScope, closeWithGracePeriod } from './cancellation.ts'
import type { Fields } from './contract.ts'
import type { ErrorOrigin } from './failures.ts'
import { ignoreRejection } from './promises.ts'

/** The rest of the call, as far as it has run. */
export interface Downstream {
  /** The latest call of the rest; undefined while there was none. */
  readonly last: Promise<unknown> | undefined
  /** The latest result. */
  readonly result: { readonly value: unknown } | undefined
  /** How the latest call failed. */
  readonly failure: { readonly error: unknown } | undefined
}

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

/** An iterator that has to be closed unless it ended by itself. */
export type ChunkIterator = AsyncIterator<unknown, unknown, undefined>

export const doneResult = { done: true, value: undefined } as const

interface OpenedStream {
  readonly way: CancellationScope
  readonly chunks: ChunkIterator
}

export class StreamNextHandle {
  readonly next: (request?: Fields) => Promise<ChunkIterator>
  readonly #run: CallRun
  readonly #owner: ErrorOrigin
  readonly #handle: NextHandle<Fields, ChunkIterator>
  readonly #opened = new Set<OpenedStream>()
  #revoked = false

  constructor(
    run: CallRun,
    who: ErrorOrigin,
    branch: CancellationScope,
    open: (request: Fields | undefined, way: CancellationScope) => Promise<ChunkIterator>,
  ) {
    this.#run = run
    this.#owner = who
    this.#handle = new NextHandle(run, who, branch, async (request, way) => this.#track(way, await open(request, way)))
    this.next = this.#handle.next
    branch.inner = this
  }

  /** Closes what is still open. Never rejects. May be called twice. */
  async revoke(): Promise<void> {
    this.#revoked = true
    this.#handle.revoke()
    for (const opened of this.#opened) {
      this.#opened.delete(opened)
      opened.way.abort(this.#run.nextRevokedError(this.#owner))
      await this.#close(opened.chunks)
    }
  }

  cancel(reason: unknown): void {
    this.#handle.cancel(reason)
    for (const { way } of this.#opened) way.abort(reason)
  }

  async #track(way: CancellationScope, chunks: ChunkIterator): Promise<ChunkIterator> {
    if (this.#revoked) {
      await this.#close(chunks)
      throw this.#run.nextRevokedError(this.#owner)
    }
    const opened = { way, chunks }
    this.#opened.add(opened)
    return notifyOnEnd(chunks, () => this.#opened.delete(opened))
  }

  #close(chunks: ChunkIterator): Promise<void> {
    return closeWithGracePeriod(chunks, this.#run.name, this.#run.context)
  }
}

/** The same chunks; `over` is told when they end, however they do. */
function notifyOnEnd(chunks: ChunkIterator, onEnd: () => void): ChunkIterator {
  return {
    async next() {
      try {
        const step = await chunks.next()
        if (step.done === true) onEnd()
        return step
      } catch (error) {
        onEnd()
        throw error
      }
    },
    async return() {
      onEnd()
      await chunks.return?.()
      return doneResult
    },
  }
}
