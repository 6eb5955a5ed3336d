/**
 * The engine of a single process: the active queues, and those that wait until the concurrency limit permits them.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { backoffMs, maxTimerMs, onAbort, sleep, withTimeout } from '../lib/timers.ts'
import type { QueueKind, SessionKey } from '../message/ids.ts'
import type { Engine, QueueWorker } from './engine.ts'

export interface EmbeddedEngineDeps {
  readonly log: Logger
  readonly random: () => number
  /** Maximum number of concurrent turns; control queues do not count. */
  readonly concurrency: () => number
}

interface QueueRun {
  readonly key: SessionKey
  readonly queue: QueueKind
  /** Work arrived while the worker was running. The worker may have missed it, so it runs again. */
  rerun: boolean
  /** Consecutive failures. */
  failures: number
  /** Ends the back-off after a failure; undefined when none is in progress. */
  endBackoff: (() => void) | undefined
  /** The place of the running turn in the concurrency limit; undefined while no turn runs. */
  slot: Slot | undefined
}

/** A turn's place in the concurrency limit. It is free while the turn waits for something outside of this process. */
interface Slot {
  /** Concurrent waits of the turn. */
  waits: number
}

/** A suspect that has neither ended nor made progress for so long does not hold up the other suspects any more. */
const suspectTimeoutMs = 60_000

function idOf(key: SessionKey, queue: QueueKind): string {
  return `${queue} ${key}`
}

export function createEmbeddedEngine({ log, random, concurrency }: EmbeddedEngineDeps): Engine {
  // `wake` may be called within another session, whose async context must not be inherited.
  const runDetached = AsyncLocalStorage.snapshot()
  const active = new Map<string, QueueRun>()
  const waiting = new Map<string, QueueRun>()
  const abort = new AbortController()
  const idleWaiters = new Set<() => void>()
  const timers = new Map<string, NodeJS.Timeout>()
  /** Turns that wait for a place after a wait outside. */
  const returning = new Set<() => void>()
  /** Queues that run one at a time and have not started yet. */
  const suspects = new Set<string>()
  let runningSuspect: { readonly id: string; readonly timeout: NodeJS.Timeout } | undefined
  let worker: QueueWorker | undefined
  let stopping = false
  let running = 0

  function fill(): void {
    for (const returnTurn of returning) if (stopping || running < concurrency()) returnTurn()
    for (const [id, run] of waiting) {
      if (worker === undefined || stopping) return
      if (run.queue === 'turn' && running >= concurrency()) continue
      if (suspects.has(id) && runningSuspect !== undefined) continue
      if (suspects.delete(id)) runningSuspect = { id, timeout: setTimeout(endSuspicion, suspectTimeoutMs, id) }
      waiting.delete(id)
      active.set(id, run)
      const runQueue = worker
      void runDetached(() => work(id, run, runQueue))
    }
  }

  function endSuspicion(id: string): void {
    if (runningSuspect?.id !== id) return
    clearTimeout(runningSuspect.timeout)
    runningSuspect = undefined
    fill()
  }

  function takeSlot(run: QueueRun): void {
    if (run.queue === 'control') return
    run.slot = { waits: 0 }
    running += 1
  }

  function releaseSlot(run: QueueRun): void {
    if (run.slot?.waits === 0) running -= 1
    // A wait that outlives its turn finds that its slot is gone.
    run.slot = undefined
  }

  async function waitOutside<T>(key: SessionKey, wait: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const id = idOf(key, 'turn')
    const run = active.get(id)
    const slot = run?.slot
    if (run === undefined || slot === undefined) return await wait()
    slot.waits += 1
    if (slot.waits === 1) {
      running -= 1
      endSuspicion(id)
      fill()
    }
    try {
      return await wait()
    } finally {
      slot.waits -= 1
      if (slot.waits === 0 && run.slot === slot) await retakeSlot(signal)
    }
  }

  /** Takes a slot as soon as one is free, or at once when the turn has been aborted and only has to end. */
  function retakeSlot(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const returnTurn = () => {
        returning.delete(returnTurn)
        removeListener()
        running += 1
        resolve()
      }
      returning.add(returnTurn)
      const removeListener = onAbort(signal, () => queueMicrotask(() => returning.has(returnTurn) && returnTurn()))
      fill()
    })
  }

  async function work(id: string, run: QueueRun, runQueue: QueueWorker): Promise<void> {
    takeSlot(run)
    do {
      run.rerun = false
      try {
        await runQueue(run.key, run.queue, abort.signal)
        run.failures = 0
      } catch (error) {
        run.failures += 1
        log.error(
          { event: 'engine.worker_failed', session: run.key, queue: run.queue, err: error },
          `queue worker failed; retrying: ${messageOf(error)}`,
        )
      }
    } while (run.rerun && run.failures === 0 && !stopping)
    releaseSlot(run)
    endSuspicion(id)
    if (run.failures > 0 && !stopping) await backOff(run)
    active.delete(id)
    if (run.failures > 0) waiting.set(id, run)
    fill()
    notifyIfDrained()
  }

  /** Waits before the next attempt without blocking other sessions. New work ends the wait. */
  async function backOff(run: QueueRun): Promise<void> {
    const wait = new AbortController()
    run.endBackoff = () => wait.abort()
    fill()
    await sleep(backoffMs(run.failures, 1_000, 60_000, random), wait.signal)
    run.endBackoff = undefined
  }

  function isDrained(): boolean {
    return active.size === 0 && (stopping || (waiting.size === 0 && timers.size === 0))
  }

  function notifyIfDrained(): void {
    if (isDrained()) for (const done of idleWaiters) done()
  }

  /** Resolves when nothing is active and, unless the engine is stopping, nothing is waiting. */
  function drained(): Promise<void> {
    if (isDrained()) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        idleWaiters.delete(done)
        resolve()
      }
      idleWaiters.add(done)
    })
  }

  function backingOff(): number {
    return [...active.values()].filter((run) => run.endBackoff !== undefined).length
  }

  function wake(key: SessionKey, queue: QueueKind): void {
    const id = idOf(key, queue)
    const run = active.get(id)
    if (run !== undefined) {
      run.rerun = true
      run.endBackoff?.()
    } else if (!waiting.has(id)) {
      waiting.set(id, { key, queue, rerun: false, failures: 0, endBackoff: undefined, slot: undefined })
    }
    fill()
  }

  return {
    wake,
    wakeLater(key, queue, delayMs) {
      const id = idOf(key, queue)
      clearTimeout(timers.get(id))
      const wakeNow = () => {
        timers.delete(id)
        wake(key, queue)
      }
      timers.set(id, setTimeout(wakeNow, Math.min(delayMs, maxTimerMs)))
    },
    waitOutside,
    runOneAtATime(keys) {
      for (const key of keys) suspects.add(idOf(key, 'turn'))
    },
    madeProgress: (key) => endSuspicion(idOf(key, 'turn')),
    start(queueWorker) {
      worker = queueWorker
      fill()
    },
    async stop(graceMs, force) {
      stopping = true
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
      for (const run of active.values()) run.endBackoff?.()
      fill()
      notifyIfDrained()
      await withTimeout(drained(), graceMs, force)
      abort.abort(new Error('the gateway is stopping'))
      // A worker that ignores its signal must not keep the process alive. The next start resumes its turn.
      await withTimeout(drained(), 5_000)
    },
    idle: drained,
    load: () => ({ running, waiting: waiting.size + backingOff() + timers.size }),
  }
}
