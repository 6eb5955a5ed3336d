/**
 * The turns that run right now, so that they can be stopped from outside.
 */
import { withTimeout } from '../lib/timers.ts'
import type { SessionKey } from '../message/ids.ts'

/** Why a turn's signal was aborted by a person; everything else is the daemon stopping. */
export class StopRequested extends Error {
  constructor() {
    super('the turn was stopped')
    this.name = 'StopRequested'
  }
}

export interface RunningTurn {
  readonly signal: AbortSignal
  /** The turn has ended, however it did. */
  finish(): void
}

export interface RunningTurns {
  /** Registers a turn; its signal aborts at a stop request or with `outer`. */
  start(key: SessionKey, seq: number, outer: AbortSignal): RunningTurn
  /** Stops the turn of a session; resolves with whether there was one, once it has ended or after five seconds. */
  stop(key: SessionKey): Promise<boolean>
  /** Ends the turn of a session in the middle, as the stop of the gateway does: the next start takes it up again. */
  abort(key: SessionKey): void
  /** Stops the turn that works on this event; false when it does not run. */
  stopEvent(seq: number): boolean
  isRunning(key: SessionKey): boolean
  /** No further turn of this session begins until the returned function is called. */
  hold(key: SessionKey): () => void
  isHeld(key: SessionKey): boolean
}

interface RunningEntry {
  readonly seq: number
  readonly abort: AbortController
  readonly done: Promise<void>
}

export function createRunningTurns(): RunningTurns {
  const running = new Map<SessionKey, RunningEntry>()
  const held = new Set<SessionKey>()

  return {
    start(key, seq, outer) {
      const abort = new AbortController()
      const { promise, resolve } = Promise.withResolvers<void>()
      const forwardAbort = () => abort.abort(outer.reason)
      if (outer.aborted) forwardAbort()
      else outer.addEventListener('abort', forwardAbort, { once: true })
      const entry = { seq, abort, done: promise }
      running.set(key, entry)
      return {
        signal: abort.signal,
        finish() {
          outer.removeEventListener('abort', forwardAbort)
          if (running.get(key) === entry) running.delete(key)
          resolve()
        },
      }
    },
    async stop(key) {
      const entry = running.get(key)
      if (entry === undefined) return false
      entry.abort.abort(new StopRequested())
      await withTimeout(entry.done, 5_000)
      return true
    },
    abort(key) {
      running.get(key)?.abort.abort(new Error('the gateway is stopping'))
    },
    stopEvent(seq) {
      for (const entry of running.values()) {
        if (entry.seq !== seq) continue
        entry.abort.abort(new StopRequested())
        return true
      }
      return false
    },
    isRunning: (key) => running.has(key),
    hold(key) {
      held.add(key)
      return () => {
        held.delete(key)
      }
    },
    isHeld: (key) => held.has(key),
  }
}
