/**
 * The contract of the engine, which schedules the sessions. It carries no messages: the store holds the work, and a scan at
 * the start finds work whose wake-up was lost.
 */
import type { QueueKind, SessionKey } from '../message/ids.ts'

/**
 * Processes the queue of a session until it is empty. Throws only when it cannot continue; the engine then retries later.
 * `signal` aborts when the daemon stops.
 */
export type QueueWorker = (key: SessionKey, queue: QueueKind, signal: AbortSignal) => Promise<void>

export interface Engine {
  /** Reports work in a queue. Cheap; may be called repeatedly and before `start`. */
  wake(key: SessionKey, queue: QueueKind): void
  /** Starts to call the worker, at most once at a time per queue of a session. */
  start(worker: QueueWorker): void
  /** Starts no further work, waits for running work, and aborts it after `graceMs` or when `force` aborts. May be called twice. */
  stop(graceMs: number, force?: AbortSignal): Promise<void>
  /** Resolves when nothing is running or waiting. For tests and the command line. */
  idle(): Promise<void>
  /** The number of running and waiting turns, for the status. */
  load(): { readonly running: number; readonly waiting: number }
}
