/**
 * Lets a caller wait in this process until a question is resolved. The caller then reads the result from the store.
 */
import { raceAbort } from '../lib/timers.ts'

export interface CompletionSignals {
  /** A question was resolved and stored. */
  readonly complete: (id: string) => void
  /** Listens at once, so that a resolution before `wait` is not missed. */
  listen(id: string): CompletionSignal
}

interface CompletionSignal {
  /** Resolves once the question is resolved; rejects with the signal's reason when that aborts first. */
  wait(signal: AbortSignal): Promise<void>
  /** Stops listening. May be called twice. */
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
