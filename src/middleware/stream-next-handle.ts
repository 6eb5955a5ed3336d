/**
 * The right to run the rest of a stream: lasts until the intercept's own stream ends, and closes then what it opened.
 */

import type { CallRun } from './call-run.ts'
import type { CancellationScope } from './cancellation-scope.ts'
import type { Fields } from './contract.ts'
import type { ErrorOrigin } from './failure-reporter.ts'
import { closeWithGracePeriod } from './grace-period.ts'
import { NextHandle } from './next-handle.ts'

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
    return closeWithGracePeriod(chunks, `the stream of ${this.#run.name}`, this.#run.context)
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
