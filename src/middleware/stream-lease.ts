/**
 * The right to run the rest of a stream: lasts until the intercept's own stream ends, and closes then what it opened.
 */
import type { Branch } from './branch.ts'
import type { CallRun } from './call-run.ts'
import type { Fields } from './contract.ts'
import type { Culprit } from './failures.ts'
import { Lease } from './lease.ts'
import { closeInTime } from './patience.ts'

/** An iterator that has to be closed unless it ended by itself. */
export type Chunks = AsyncIterator<unknown, unknown, undefined>

export const noMoreChunks = { done: true, value: undefined } as const

interface Opened {
  readonly way: Branch
  readonly chunks: Chunks
}

export class StreamLease {
  readonly next: (request?: Fields) => Promise<Chunks>
  readonly #run: CallRun
  readonly #who: Culprit
  readonly #lease: Lease<Fields, Chunks>
  readonly #opened = new Set<Opened>()
  #ended = false

  constructor(
    run: CallRun,
    who: Culprit,
    branch: Branch,
    open: (request: Fields | undefined, way: Branch) => Promise<Chunks>,
  ) {
    this.#run = run
    this.#who = who
    this.#lease = new Lease(run, who, branch, async (request, way) => this.#kept(way, await open(request, way)))
    this.next = this.#lease.next
    branch.inner = this
  }

  /** Closes what is still open. Never rejects. May be called twice. */
  async end(): Promise<void> {
    this.#ended = true
    this.#lease.end()
    for (const opened of this.#opened) {
      this.#opened.delete(opened)
      opened.way.abort(this.#run.refusal(this.#who))
      await this.#close(opened.chunks)
    }
  }

  callOff(reason: unknown): void {
    this.#lease.callOff(reason)
    for (const { way } of this.#opened) way.abort(reason)
  }

  async #kept(way: Branch, chunks: Chunks): Promise<Chunks> {
    if (this.#ended) {
      await this.#close(chunks)
      throw this.#run.refusal(this.#who)
    }
    const opened = { way, chunks }
    this.#opened.add(opened)
    return untilOver(chunks, () => this.#opened.delete(opened))
  }

  #close(chunks: Chunks): Promise<void> {
    return closeInTime(chunks, `the stream of ${this.#run.name}`, this.#run.room)
  }
}

/** The same chunks; `over` is told when they end, however they do. */
function untilOver(chunks: Chunks, over: () => void): Chunks {
  return {
    async next() {
      try {
        const step = await chunks.next()
        if (step.done === true) over()
        return step
      } catch (error) {
        over()
        throw error
      }
    },
    async return() {
      over()
      await chunks.return?.()
      return noMoreChunks
    },
  }
}
