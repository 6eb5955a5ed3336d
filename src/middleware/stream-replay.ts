/**
 * What a stream intercept that fails open has taken and not yet handed on: as long as nothing of its own is out, the
 * stream can go on without it, from its first chunk, and the provider is not asked twice.
 */
import type { ChunkIterator } from './next-handle.ts'

export class StreamReplay {
  #buffered: unknown[] = []
  #source: ChunkIterator | undefined
  #emitted = false
  #sourceFailed = false

  /** False once chunks are out, or the stream below has failed itself. */
  get canReplay(): boolean {
    return !this.#emitted && !this.#sourceFailed
  }

  /** The intercept has handed something on. */
  markEmitted(): void {
    this.#emitted = true
    this.#buffered = []
  }

  /** The same stream, with what is taken from it remembered; the latest one counts. */
  record(source: ChunkIterator): ChunkIterator {
    this.#source = source
    this.#buffered = []
    return {
      next: async () => {
        try {
          const step = await source.next()
          if (step.done !== true && !this.#emitted) this.#buffered.push(step.value)
          return step
        } catch (error) {
          this.#sourceFailed = true
          throw error
        }
      },
      // An intercept that throws closes what it iterates over; the stream must outlive that.
      return: async () => {
        if (this.#emitted) await source.return?.()
        return { done: true, value: undefined }
      },
    }
  }

  /** Once: the stream from its beginning; undefined when the intercept had not opened one. */
  replay(): ChunkIterator | undefined {
    // From here on failures are those of the stream below, which must not be opened again and again.
    this.#emitted = true
    const source = this.#source
    if (source === undefined) return undefined
    const taken = this.#buffered
    let at = 0
    return {
      next: async () => (at < taken.length ? { done: false, value: taken[at++] } : source.next()),
      return: async () => {
        await source.return?.()
        return { done: true, value: undefined }
      },
    }
  }
}
