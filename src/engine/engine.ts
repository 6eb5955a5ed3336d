/**
 * The contract of the engine, which schedules the sessions. It carries no messages: the store holds the work, and a scan at
 * the start finds work whose wake-up was lost.
 */
import type { QueueKind, SessionKey } from '../message/ids.ts'

/**
 * Processes the queue of a session until it is empty. Throws only when it cannot continue; the engine then retries later.
 * `signal` aborts when the daemon stops.
 */
export type QueueWorker = (key: SessionKey, signal: AbortSignal) => Promise<void>

export type QueueWorkers = Readonly<Record<QueueKind, QueueWorker>>

export interface Engine {
  /** Reports work in a queue. Cheap; may be called repeatedly and before `start`. */
  wake(key: SessionKey, queue: QueueKind): void
  /** Wakes a queue whose oldest event must not be processed yet. A later call replaces an earlier one. */
  wakeLater(key: SessionKey, queue: QueueKind, delayMs: number): void
  /** Starts to call the worker of each queue, at most once at a time per queue of a session. */
  start(workers: QueueWorkers): void
  /**
   * Runs `wait` without counting the turn of this session as running, so that another turn can run meanwhile. A turn with
   * branches counts as running until all of them wait. Resolves or rejects as `wait`; before it resolves, it waits until the
   * turn may run again or `signal` aborts.
   */
  waitOutside<T>(key: SessionKey, wait: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** The turn of this session splits into branches. Each of them calls the returned function once, when it ends. */
  fork(key: SessionKey, branches: number): () => void
  /** The turns of these sessions run one at a time, each until it ends, waits, makes progress or has run for a minute. */
  runOneAtATime(keys: readonly SessionKey[]): void
  /**
   * Whether the worker must return between two turns, because other sessions wait for a slot. The engine calls it again after
   * them.
   */
  yieldTurn(key: SessionKey): boolean
  /** Whether the queue of turns of this session has work, as far as this process knows. */
  isBusy(key: SessionKey, queue: QueueKind): boolean
  /** The turn of this session has made progress. */
  madeProgress(key: SessionKey): void
  /** Starts no further work, waits for running work, and aborts it after `graceMs` or when `force` aborts. May be called twice. */
  stop(graceMs: number, force?: AbortSignal): Promise<void>
  /** Resolves when nothing is running or waiting. For tests and the command line. */
  idle(): Promise<void>
  /** The number of running and waiting turns, for the status. */
  load(): { readonly running: number; readonly waiting: number }
}

/** Places for work of one kind, of which only so much goes on at once. They are given in the order in which they were waited for. */
export interface Places {
  isFree(): boolean
  /** Takes a place, beyond the limit if necessary. */
  take(): void
  leave(): void
  /** Calls once, as soon as a place is free. A function that waits already waits once. */
  whenFree(call: () => void): void
  /** Waits for a place and takes it. Rejects with the signal's reason. */
  enter(signal: AbortSignal): Promise<void>
}
