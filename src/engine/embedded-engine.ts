/**
 * The engine of a single process: the active queues, and those that wait until the concurrency limit permits them. A turn holds a
 * slot while it runs, and frees it while it waits for something outside of this process.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { backoffMs, maxTimerMs, onAbort, sleep, withTimeout } from '../lib/timers.ts'
import type { QueueKind, SessionKey } from '../message/ids.ts'
import type { Engine, Places, QueueWorker, QueueWorkers } from './engine.ts'
import { createSuspects, type Suspects } from './suspects.ts'

export interface EmbeddedEngineDeps {
  readonly log: Logger
  readonly random: () => number
  /** How many turns run at once; control queues do not count. */
  readonly settings: () => { readonly agent: { readonly max_concurrent_turns: number } }
  /** The kinds of sessions whose turns also need a place. */
  readonly places?: { kindOf(key: SessionKey): string; readonly ofKind: ReadonlyMap<string, Places> }
  /** Called when a turn must wait for the end of one of `limit` others. `isSaturated`: whether a turn still does. Cheap. */
  onSaturated?(limit: number, isSaturated: () => boolean): void
}

interface QueueRun {
  readonly key: SessionKey
  readonly queue: QueueKind
  readonly places: Places | undefined
  /** Work arrived while the worker was running. The worker may have missed it, so it runs again. */
  rerun: boolean
  /** Consecutive failures. */
  failures: number
  /** Ends the back-off after a failure; undefined when none is in progress. */
  endBackoff: (() => void) | undefined
  /** The slot of the running turn; undefined while no turn runs. */
  slot: TurnSlot | undefined
}

function createRun(key: SessionKey, queue: QueueKind, places: Places | undefined): QueueRun {
  return { key, queue, places, rerun: false, failures: 0, endBackoff: undefined, slot: undefined }
}

function idOf(key: SessionKey, queue: QueueKind): string {
  return `${queue} ${key}`
}

function createDrainWaiters(isDrained: () => boolean) {
  const waiters = new Set<() => void>()
  return {
    notify(): void {
      if (isDrained()) for (const done of waiters) done()
    },
    /** Resolves when nothing is active and, unless the engine is stopping, nothing is waiting. */
    wait(): Promise<void> {
      if (isDrained()) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          waiters.delete(done)
          resolve()
        }
        waiters.add(done)
      })
    },
  }
}

export function createEmbeddedEngine({ log, random, settings, places, onSaturated }: EmbeddedEngineDeps): Engine {
  // `wake` may be called within another session, whose async context must not be inherited.
  const runDetached = AsyncLocalStorage.snapshot()
  const active = new Map<string, QueueRun>()
  const waiting = new Map<string, QueueRun>()
  const abort = new AbortController()
  const drain = createDrainWaiters(isDrained)
  const timers = new Map<string, NodeJS.Timeout>()
  const slots = createTurnSlots(settings, () => fill())
  /** Undefined unless a crash is investigated. */
  let suspects: Suspects | undefined
  let workers: QueueWorkers | undefined
  let stopping = false

  function fill(): void {
    slots.resume(stopping)
    let mustWait = false
    for (const [id, run] of waiting) {
      if (workers === undefined || stopping) return
      const hasSlot = run.queue === 'control' || slots.isFree()
      mustWait ||= !hasSlot
      if (!hasSlot || !hasPlace(run, fill) || suspects?.mustWait(id) === true) continue
      suspects?.started(id)
      waiting.delete(id)
      active.set(id, run)
      const runQueue = workers[run.queue]
      void runDetached(() => work(id, run, runQueue))
    }
    if (mustWait) onSaturated?.(settings().agent.max_concurrent_turns, isSaturated)
  }

  const isSaturated = () => !slots.isFree() && hasTurnWithPlace(waiting.values())

  async function work(id: string, run: QueueRun, runQueue: QueueWorker): Promise<void> {
    run.slot = run.queue === 'turn' ? slots.take() : undefined
    run.places?.take()
    do {
      run.rerun = false
      try {
        await runQueue(run.key, abort.signal)
        run.failures = 0
      } catch (error) {
        run.failures += 1
        log.error(
          { event: 'engine.worker_failed', session: run.key, queue: run.queue, err: error },
          `queue worker failed; retrying: ${messageOf(error)}`,
        )
      }
    } while (run.rerun && run.failures === 0 && !stopping && !(run.queue === 'turn' && isSaturated()))
    if (run.slot !== undefined) slots.release(run.slot)
    run.slot = undefined
    run.places?.leave()
    suspects?.clear(id)
    if (run.failures > 0 && !stopping) await backOff(run)
    active.delete(id)
    // Behind the sessions that wait for a slot.
    if (run.failures > 0 || run.rerun) waiting.set(id, run)
    fill()
    drain.notify()
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

  const backingOff = () => [...active.values()].filter((run) => run.endBackoff !== undefined).length

  function wake(key: SessionKey, queue: QueueKind): void {
    const id = idOf(key, queue)
    const run = active.get(id)
    if (run !== undefined) {
      run.rerun = true
      run.endBackoff?.()
    } else if (!waiting.has(id)) {
      waiting.set(id, createRun(key, queue, queue === 'turn' ? places?.ofKind.get(places.kindOf(key)) : undefined))
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
    async waitOutside(key, wait, signal) {
      const id = idOf(key, 'turn')
      const slot = active.get(id)?.slot
      if (slot === undefined) return await wait()
      suspects?.clear(id)
      return await slots.waitOutside(slot, wait, signal)
    },
    fork(key, branches) {
      const slot = active.get(idOf(key, 'turn'))?.slot
      return slot === undefined ? () => undefined : slots.fork(slot, branches)
    },
    runOneAtATime(keys) {
      if (keys.length === 0) return
      suspects ??= createSuspects(fill)
      for (const key of keys) suspects.add(idOf(key, 'turn'))
    },
    yieldTurn(key) {
      const run = active.get(idOf(key, 'turn'))
      if (run === undefined || !isSaturated()) return false
      run.rerun = true
      return true
    },
    isBusy: (key, queue) => [active, waiting, timers].some((known) => known.has(idOf(key, queue))),
    madeProgress: (key) => suspects?.clear(idOf(key, 'turn')),
    start(queueWorkers) {
      workers = queueWorkers
      fill()
    },
    async stop(graceMs, force) {
      stopping = true
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
      for (const run of active.values()) run.endBackoff?.()
      fill()
      drain.notify()
      await withTimeout(drain.wait(), graceMs, force)
      abort.abort(new Error('the gateway is stopping'))
      // A worker that ignores its signal must not keep the process alive. The next start resumes its turn.
      await withTimeout(drain.wait(), 5_000)
    },
    idle: drain.wait,
    load: () => ({ running: slots.used(), waiting: waiting.size + backingOff() + timers.size }),
  }
}

/** @param onFree called as soon as there is a place, if there is none now */
function hasPlace({ places }: QueueRun, onFree: () => void): boolean {
  const isFree = places?.isFree() !== false
  if (!isFree) places?.whenFree(onFree)
  return isFree
}

/** Whether a turn waits for nothing but a slot. */
function hasTurnWithPlace(runs: Iterable<QueueRun>): boolean {
  for (const { queue, places } of runs) if (queue === 'turn' && places?.isFree() !== false) return true
  return false
}

interface TurnSlot {
  /** Parts of the turn that work in parallel, such as sub-agents. */
  branches: number
  /** Branches that wait. The slot is free while all of them do. */
  waits: number
  /** Whether the slot counts as used. */
  isHeld: boolean
  /** False after the turn has ended. A wait may outlive its turn. */
  isOpen: boolean
}

interface TurnSlots {
  isFree(): boolean
  /** Takes a slot beyond the limit if necessary. */
  take(): TurnSlot
  /** Ends the use of a slot. */
  release(slot: TurnSlot): void
  /** Splits the turn into branches. Each of them calls the returned function once, when it ends. */
  fork(slot: TurnSlot, branches: number): () => void
  /**
   * Frees the slot during `wait`, while no other branch works. Resolves or rejects as `wait`, when the slot is held again or
   * the signal aborts.
   */
  waitOutside<T>(slot: TurnSlot, wait: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Gives free slots to turns whose wait is over; all of them when `force` is set. */
  resume(force: boolean): void
  /** Slots in use. */
  used(): number
}

/** @param onFree called when a wait frees a slot */
function createTurnSlots(settings: EmbeddedEngineDeps['settings'], onFree: () => void): TurnSlots {
  const limit = () => settings().agent.max_concurrent_turns
  /** The branches whose wait is over, each with its slot. */
  const returning = new Map<() => void, TurnSlot>()
  let used = 0

  function resume(force: boolean): void {
    for (const [takeAgain, slot] of returning) if (force || slot.isHeld || used < limit()) takeAgain()
  }

  /**
   * Resolves as soon as the turn has a slot, which another branch may have taken, or at once when the turn was aborted and
   * only has to end.
   */
  function takeAgain(slot: TurnSlot, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        if (!returning.delete(finish)) return
        removeListener()
        // Meanwhile the turn may have ended, or wait again.
        if (slot.isOpen && !isWaiting(slot)) hold(slot)
        resolve()
      }
      returning.set(finish, slot)
      const removeListener = onAbort(signal, () => queueMicrotask(finish))
      resume(false)
    })
  }

  function hold(slot: TurnSlot): void {
    if (!slot.isHeld) used += 1
    slot.isHeld = true
  }

  function free(slot: TurnSlot): void {
    if (slot.isHeld) used -= 1
    slot.isHeld = false
  }

  function isWaiting({ waits, branches }: TurnSlot): boolean {
    return waits >= branches
  }

  function freeWhileWaiting(slot: TurnSlot): void {
    if (!slot.isHeld || !isWaiting(slot)) return
    free(slot)
    onFree()
  }

  return {
    isFree: () => used < limit(),
    take() {
      const slot = { branches: 1, waits: 0, isHeld: false, isOpen: true }
      hold(slot)
      return slot
    },
    release(slot) {
      slot.isOpen = false
      free(slot)
    },
    fork(slot, branches) {
      let working = branches
      slot.branches += branches - 1
      return () => {
        working -= 1
        // After the last branch, the turn itself continues.
        if (working === 0) return
        slot.branches -= 1
        freeWhileWaiting(slot)
      }
    },
    async waitOutside(slot, wait, signal) {
      slot.waits += 1
      freeWhileWaiting(slot)
      try {
        return await wait()
      } finally {
        slot.waits -= 1
        if (slot.isOpen && !slot.isHeld) await takeAgain(slot, signal)
      }
    },
    resume,
    used: () => used,
  }
}

/** @param limit may change; who has a place keeps it */
export function createPlaces(limit: () => number): Places {
  const waiters = new Set<() => void>()
  let used = 0
  const isFree = () => used < limit()
  const take = () => {
    used += 1
  }
  return {
    isFree,
    take,
    leave() {
      used -= 1
      for (const call of waiters) {
        if (!isFree()) return
        waiters.delete(call)
        call()
      }
    },
    whenFree: (call) => void waiters.add(call),
    async enter(signal) {
      signal.throwIfAborted()
      if (isFree()) return take()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const enterNow = () => {
        take()
        resolve()
      }
      const removeListener = onAbort(signal, () => {
        if (waiters.delete(enterNow)) reject(signal.reason)
      })
      waiters.add(enterNow)
      await promise.finally(removeListener)
    },
  }
}
