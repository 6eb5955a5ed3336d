/**
 * `next`: what an intercept uses to run the rest of its call. It works until the intercept settles, or until the stream of a
 * stream intercept ends.
 */
import { HermesError } from '../lib/errors.ts'
import type { CallRun } from './call-run.ts'
import { closeWithGracePeriod } from './calls.ts'
import { CancellationScope } from './cancellation.ts'
import type { Fields } from './contract.ts'
import { describeOrigin, type ErrorOrigin } from './failures.ts'
import { handledRejection, ignoreRejection, isThenable } from './promises.ts'

/** The state of the rest of the call, as one callback or intercept runs it. */
export interface Downstream {
  /** The latest run; undefined before the first. */
  readonly last: Promise<unknown> | undefined
  /** The latest successful result. */
  readonly result: { readonly value: unknown } | undefined
  /** The failure of the latest run. */
  readonly failure: { readonly error: unknown } | undefined
}

/** Whether a value can be passed to `next`: nothing, or an object with fields. Plugins may be written without types. */
export function isNextInput(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && !Array.isArray(value) && !isThenable(value)
}

export function rejectNextInput(owner: ErrorOrigin): Promise<never> {
  return handledRejection(
    new HermesError(
      'middleware/bad-return',
      `${describeOrigin(owner)} passed a value to \`next\` that is not an object.`,
    ),
  )
}

/** One call of `next`: a branch of the call with its own signal. */
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
  readonly #start: (input: Input | undefined, branch: CancellationScope) => Promise<Output>
  readonly #invocations: Invocation<Output>[] = []
  #revoked = false

  /** `start` runs the rest of the call on the given branch. It must not throw. */
  constructor(
    run: CallRun,
    owner: ErrorOrigin,
    branch: CancellationScope,
    start: (input: Input | undefined, branch: CancellationScope) => Promise<Output>,
  ) {
    this.#run = run
    this.#owner = owner
    this.#cancellation = branch
    this.#start = start
    branch.inner = this
  }

  /**
   * Passed to the intercept. Rejects with `middleware/next-revoked` once the handle is revoked. An unhandled rejection does
   * not end the process.
   */
  readonly next = (input?: Input): Promise<Output> => {
    if (this.#revoked || this.#cancellation.aborted) return this.#run.rejectNextRevoked(this.#owner)
    if (!isNextInput(input)) return rejectNextInput(this.#owner)
    const invocation = new Invocation<Output>()
    this.#invocations.push(invocation)
    this.last = invocation.promise
    this.failure = undefined
    this.#start(input, invocation).then(
      (value) => {
        if (!this.#remove(invocation)) return
        this.result = { value }
        invocation.resolve(value)
      },
      (error) => {
        if (this.#remove(invocation)) this.#fail(invocation, error)
      },
    )
    return invocation.promise
  }

  /** Called when the intercept has settled: aborts the branches that still run. May be called twice. */
  revoke(): void {
    this.#revoked = true
    if (this.#invocations.length === 0) return
    const error = this.#run.nextRevokedError(this.#owner)
    for (const invocation of this.#invocations.splice(0)) {
      this.#fail(invocation, error)
      invocation.abort(error)
    }
  }

  /** Aborts the running branches because the call or an outer intercept ended. */
  cancel(reason: unknown): void {
    for (const invocation of this.#invocations) invocation.abort(reason)
  }

  #fail(invocation: Invocation<Output>, error: unknown): void {
    ignoreRejection(invocation.promise)
    this.failure = { error }
    this.#run.recordFailure(error)
    invocation.reject(error)
  }

  /** False when the invocation was revoked before. */
  #remove(invocation: Invocation<Output>): boolean {
    const index = this.#invocations.indexOf(invocation)
    if (index >= 0) this.#invocations.splice(index, 1)
    return index >= 0
  }
}

/** Must be closed by `return` unless it has ended. */
export type ChunkIterator = AsyncIterator<unknown, unknown, undefined>

export const doneResult = { done: true, value: undefined } as const

interface OpenedStream {
  readonly streamBranch: CancellationScope
  readonly chunks: ChunkIterator
}

/** The `next` of a stream intercept. It works until the stream of the intercept ends; then it closes what it opened. */
export class StreamNextHandle {
  readonly next: (request?: Fields) => Promise<ChunkIterator>
  readonly #run: CallRun
  readonly #owner: ErrorOrigin
  readonly #handle: NextHandle<Fields, ChunkIterator>
  readonly #opened = new Set<OpenedStream>()
  #revoked = false

  constructor(
    run: CallRun,
    owner: ErrorOrigin,
    branch: CancellationScope,
    open: (request: Fields | undefined, streamBranch: CancellationScope) => Promise<ChunkIterator>,
  ) {
    this.#run = run
    this.#owner = owner
    this.#handle = new NextHandle(run, owner, branch, async (request, streamBranch) =>
      this.#track(streamBranch, await open(request, streamBranch)),
    )
    this.next = this.#handle.next
    branch.inner = this
  }

  /** Closes the streams that are still open. Never rejects. May be called twice. */
  async revoke(): Promise<void> {
    this.#revoked = true
    this.#handle.revoke()
    for (const opened of this.#opened) {
      this.#opened.delete(opened)
      opened.streamBranch.abort(this.#run.nextRevokedError(this.#owner))
      await this.#close(opened.chunks)
    }
  }

  cancel(reason: unknown): void {
    this.#handle.cancel(reason)
    for (const { streamBranch } of this.#opened) streamBranch.abort(reason)
  }

  async #track(streamBranch: CancellationScope, chunks: ChunkIterator): Promise<ChunkIterator> {
    if (this.#revoked) {
      await this.#close(chunks)
      throw this.#run.nextRevokedError(this.#owner)
    }
    const opened = { streamBranch, chunks }
    this.#opened.add(opened)
    return notifyOnEnd(chunks, () => this.#opened.delete(opened))
  }

  #close(chunks: ChunkIterator): Promise<void> {
    return closeWithGracePeriod(chunks, this.#run.name, this.#run.context)
  }
}

/** Passes the chunks on and calls `onEnd` when they end, fail or are closed. */
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
