/**
 * Lets a caller wait for what becomes of an event: the terminal, the API and the tests ask here.
 * The outcome itself is on disk; here are only those who wait.
 */
import type { TurnResult } from '../message/turn-result.ts'
import type { Store } from '../store/store.ts'
import { findEventState } from './queries.ts'

export interface EventResults {
  /** Resolves when the event has been worked on. Rejects with the signal's reason, or when there is no such event. */
  wait(seq: number, signal: AbortSignal): Promise<TurnResult>
  /** Called after the outcome is on disk. */
  publish(seq: number, outcome: TurnResult): void
}

type Waiter = (outcome: TurnResult) => void

export function createEventResults(store: Store): EventResults {
  const waiters = new Map<number, Set<Waiter>>()

  async function wait(seq: number, signal: AbortSignal): Promise<TurnResult> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<TurnResult>()
    const onAbort = () => reject(signal.reason)
    // First stand in the queue, then look: what ends in between is not missed.
    const listeners = waiters.get(seq) ?? new Set()
    waiters.set(seq, listeners.add(resolve))
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      // Both at once: a caller who gives up during the look must find somebody who takes his reason.
      return await Promise.race([promise, storedResult(seq).then((known) => known ?? promise)])
    } finally {
      signal.removeEventListener('abort', onAbort)
      listeners.delete(resolve)
      if (listeners.size === 0) waiters.delete(seq)
    }
  }

  /** Undefined while the event waits or is worked on. */
  async function storedResult(seq: number): Promise<TurnResult | undefined> {
    const state = await store.run(() => findEventState(seq))
    if (state === undefined) throw new Error(`no event has the number ${seq}`)
    return state.outcome === null ? undefined : parseTurnResult(state.outcome)
  }

  return {
    wait,
    publish(seq, outcome) {
      for (const resolve of waiters.get(seq) ?? []) resolve(outcome)
    },
  }
}

/** JSON that the inbox wrote itself. */
function parseTurnResult(text: string): TurnResult {
  return JSON.parse(text)
}
