/**
 * Buffers the chunks that a stream intercept has read until it emits its first chunk. If the intercept fails before that, the
 * stream restarts without it from the first chunk, with no second request to the provider.
 */
import type { ChunkIterator } from './next-handle.ts'

export class StreamReplay {
  #buffered: unknown[] = []
  #source: ChunkIterator | undefined
  #emitted = false
  #sourceFailed = false

  /** False once the intercept has emitted a chunk, or once the source itself has failed. */
  get canReplay(): boolean {
    return !this.#emitted && !this.#sourceFailed
  }

  /** The intercept has emitted a chunk. */
  markEmitted(): void {
    this.#emitted = true
    this.#buffered = []
  }

  /** Returns the source with a buffer for its chunks. A later source replaces the earlier one. */
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
      // An intercept that throws closes its source; the source must stay open for the replay.
      return: async () => {
        if (this.#emitted) await source.return?.()
        return { done: true, value: undefined }
      },
    }
  }

  /** Returns the source from its first chunk; undefined if the intercept has not opened one. Called once. */
  replay(): ChunkIterator | undefined {
    // Later failures are those of the source, which must not be replayed again.
    this.#emitted = true
    const source = this.#source
    if (source === undefined) return undefined
    const buffered = this.#buffered
    let index = 0
    return {
      next: async () => (index < buffered.length ? { done: false, value: buffered[index++] } : source.next()),
      return: async () => {
        await source.return?.()
        return { done: true, value: undefined }
      },
    }
  }
}
