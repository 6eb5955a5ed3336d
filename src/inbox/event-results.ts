/**
 * Lets a caller (the terminal, the API, tests) wait for the result of an event. The results are stored in the database; this
 * module only holds the waiting callers.
 */
import { raceAbort } from '../lib/timers.ts'
import type { TurnResult } from '../message/turn-result.ts'
import type { Store } from '../store/store.ts'
import { findEventState } from './queries.ts'

export interface EventResults {
  /** Resolves with the result of an event. Rejects with the signal's reason, or when the event does not exist. */
  wait(seq: number, signal: AbortSignal): Promise<TurnResult>
  /** The result of an event, `undefined` while it waits or is processed, or null when there is no such event (any more). */
  find(seq: number): Promise<TurnResult | null | undefined>
  /** Called after the result was stored. */
  publish(seq: number, result: TurnResult): void
}

type Waiter = (result: TurnResult) => void

export function createEventResults(store: Store): EventResults {
  const waiters = new Map<number, Set<Waiter>>()

  async function wait(seq: number, signal: AbortSignal): Promise<TurnResult> {
    signal.throwIfAborted()
    const { promise, resolve } = Promise.withResolvers<TurnResult>()
    // Registered before the query, so that a result in between is not missed.
    const listeners = waiters.get(seq) ?? new Set()
    waiters.set(seq, listeners.add(resolve))
    try {
      const stored = storedResult(seq).then((known) => {
        if (known === null) throw new Error(`no event has the number ${seq}`)
        return known ?? promise
      })
      return await raceAbort(Promise.race([promise, stored]), signal)
    } finally {
      listeners.delete(resolve)
      if (listeners.size === 0) waiters.delete(seq)
    }
  }

  async function storedResult(seq: number): Promise<TurnResult | null | undefined> {
    const state = await store.run(() => findEventState(seq))
    if (state === undefined) return null
    return state.outcome === null ? undefined : parseTurnResult(state.outcome)
  }

  return {
    wait,
    find: storedResult,
    publish(seq, result) {
      for (const resolve of waiters.get(seq) ?? []) resolve(result)
    },
  }
}

/** @param text JSON that the inbox has written, so its shape is known. */
function parseTurnResult(text: string): TurnResult {
  return JSON.parse(text)
}
