/**
 * Lets a caller wait for what becomes of an event: the terminal, the API and the tests ask here.
 * The outcome itself is on disk; here are only those who wait.
 */
import type { TurnOutcome } from '../platforms/adapter.ts'
import type { Store } from '../store/store.ts'
import { eventState } from './queries.ts'

export interface Outcomes {
  /** Resolves when the event has been worked on. Rejects with the signal's reason, or when there is no such event. */
  wait(seq: number, signal: AbortSignal): Promise<TurnOutcome>
  /** Called after the outcome is on disk. */
  settle(seq: number, outcome: TurnOutcome): void
}

type Waiter = (outcome: TurnOutcome) => void

export function createOutcomes(store: Store): Outcomes {
  const waiters = new Map<number, Set<Waiter>>()

  async function wait(seq: number, signal: AbortSignal): Promise<TurnOutcome> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<TurnOutcome>()
    const giveUp = () => reject(signal.reason)
    // First stand in the queue, then look: what ends in between is not missed.
    const those = waiters.get(seq) ?? new Set()
    waiters.set(seq, those.add(resolve))
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      // Both at once: a caller who gives up during the look must find somebody who takes his reason.
      return await Promise.race([promise, outcomeOnDisk(seq).then((known) => known ?? promise)])
    } finally {
      signal.removeEventListener('abort', giveUp)
      those.delete(resolve)
      if (those.size === 0) waiters.delete(seq)
    }
  }

  /** Undefined while the event waits or is worked on. */
  async function outcomeOnDisk(seq: number): Promise<TurnOutcome | undefined> {
    const state = await store.run(() => eventState(seq))
    if (state === undefined) throw new Error(`no event has the number ${seq}`)
    return state.outcome === null ? undefined : readOutcome(state.outcome)
  }

  return {
    wait,
    settle(seq, outcome) {
      for (const resolve of waiters.get(seq) ?? []) resolve(outcome)
    },
  }
}

/** JSON that the inbox wrote itself. */
function readOutcome(text: string): TurnOutcome {
  return JSON.parse(text)
}
