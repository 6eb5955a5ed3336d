/**
 * Waiting in this process until a question has ended; what came of it is read from the disk then.
 */
import { raceAbort } from '../lib/timers.ts'

export interface CompletionSignals {
  /** A question has ended, and it is on disk. */
  readonly complete: (id: string) => void
  /** Begins to listen at once, so that an end between now and the wait is not missed. */
  listen(id: string): CompletionSignal
}

interface CompletionSignal {
  /** Resolves once the question has ended; rejects with the signal's reason when that aborts first. */
  wait(signal: AbortSignal): Promise<void>
  /** Nobody listens any more. May be called twice. */
  release(): void
}

export function createCompletionSignals(): CompletionSignals {
  const listeners = new Map<string, Set<() => void>>()
  return {
    complete(id) {
      for (const notify of listeners.get(id) ?? []) notify()
    },
    listen(id) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const subscribers = listeners.get(id) ?? new Set()
      listeners.set(id, subscribers.add(resolve))
      return {
        wait: (signal) => raceAbort(promise, signal),
        release() {
          if (subscribers.delete(resolve) && subscribers.size === 0 && listeners.get(id) === subscribers)
            listeners.delete(id)
        },
      }
    },
  }
}
