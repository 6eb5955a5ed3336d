/**
 * Waiting in this process until a question has ended; what came of it is read from the disk then.
 */
import { orAborted } from '../lib/wait.ts'

export interface Ends {
  /** A question has ended, and it is on disk. */
  readonly ended: (id: string) => void
  /** Begins to listen at once, so that an end between now and the wait is not missed. */
  listen(id: string): Listening
}

interface Listening {
  /** Resolves once the question has ended; rejects with the signal's reason when that aborts first. */
  wait(signal: AbortSignal): Promise<void>
  /** Nobody listens any more. May be called twice. */
  release(): void
}

export function createEnds(): Ends {
  const listeners = new Map<string, Set<() => void>>()
  return {
    ended(id) {
      for (const hear of listeners.get(id) ?? []) hear()
    },
    listen(id) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const those = listeners.get(id) ?? new Set()
      listeners.set(id, those.add(resolve))
      return {
        wait: (signal) => orAborted(promise, signal),
        release() {
          if (those.delete(resolve) && those.size === 0 && listeners.get(id) === those) listeners.delete(id)
        },
      }
    },
  }
}
