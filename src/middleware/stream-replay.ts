/**
 * What a stream intercept that fails open has taken and not yet handed on: as long as nothing of its own is out, the
 * stream can go on without it, from its first chunk, and the provider is not asked twice.
 */
import type { Chunks } from './stream-lease.ts'

export class Replay {
  #taken: unknown[] = []
  #source: Chunks | undefined
  #out = false
  #broken = false

  /** False once chunks are out, or the stream below has failed itself. */
  get possible(): boolean {
    return !this.#out && !this.#broken
  }

  /** The intercept has handed something on. */
  isOut(): void {
    this.#out = true
    this.#taken = []
  }

  /** The same stream, with what is taken from it remembered; the latest one counts. */
  record(source: Chunks): Chunks {
    this.#source = source
    this.#taken = []
    return {
      next: async () => {
        try {
          const step = await source.next()
          if (step.done !== true && !this.#out) this.#taken.push(step.value)
          return step
        } catch (error) {
          this.#broken = true
          throw error
        }
      },
      // An intercept that throws closes what it iterates over; the stream must outlive that.
      return: async () => {
        if (this.#out) await source.return?.()
        return { done: true, value: undefined }
      },
    }
  }

  /** Once: the stream from its beginning; undefined when the intercept had not opened one. */
  again(): Chunks | undefined {
    // From here on failures are those of the stream below, which must not be opened again and again.
    this.#out = true
    const source = this.#source
    if (source === undefined) return undefined
    const taken = this.#taken
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
