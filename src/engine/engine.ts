/**
 * The contract of the engine: it says which session runs where and when, and carries no message.
 * The truth lies in the store; a wake that is lost is found again by a scan at the start.
 */
import type { SessionKey } from '../message/ids.ts'

/** `turn`: one at a time per session, in order. `control`: commands that never queue behind a turn. */
export type QueueKind = 'turn' | 'control'

/**
 * Works until the lane of this session is empty. Should throw only when it could not go on: the engine then calls it
 * again later. `signal` aborts when the daemon stops.
 */
export type QueueWorker = (key: SessionKey, lane: QueueKind, signal: AbortSignal) => Promise<void>

export interface Engine {
  /** There is work in this lane. Cheap; may be called at any time, also before `start` and again and again. */
  wake(key: SessionKey, lane: QueueKind): void
  /** Begins to call the worker: never twice at the same time for one lane of one session. */
  start(worker: QueueWorker): void
  /** Starts nothing new, waits for what runs, aborts it after `graceMs` or when `hurry` aborts. May be called twice. */
  stop(graceMs: number, hurry?: AbortSignal): Promise<void>
  /** Resolves when nothing runs and nothing waits. For tests and for the command line. */
  idle(): Promise<void>
  /** How many turns run and wait, for status. */
  load(): { readonly running: number; readonly waiting: number }
}
