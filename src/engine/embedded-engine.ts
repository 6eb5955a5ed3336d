/**
 * The engine of a single process: a map of sessions at work and a queue of those that wait for a place.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { backoffMs, sleep, withTimeout } from '../lib/timers.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Engine, QueueKind, QueueWorker } from './engine.ts'

export interface EmbeddedEngineDeps {
  readonly log: Logger
  readonly random: () => number
  /** Turns at the same time; control lanes are not counted. */
  readonly concurrency: () => number
}

interface QueueRun {
  readonly key: SessionKey
  readonly queue: QueueKind
  /** Work came while the worker was busy: it may have looked too early, so it looks once more. */
  rerun: boolean
  /** In a row. */
  failures: number
  /** Ends the pause after a failure; undefined while there is none. */
  endBackoff: (() => void) | undefined
}

export function createEmbeddedEngine({ log, random, concurrency }: EmbeddedEngineDeps): Engine {
  // Whoever wakes a session may be in the middle of another one: their calls are not its calls.
  const runDetached = AsyncLocalStorage.snapshot()
  const active = new Map<string, QueueRun>()
  const waiting = new Map<string, QueueRun>()
  const abort = new AbortController()
  const idleWaiters = new Set<() => void>()
  let worker: QueueWorker | undefined
  let stopping = false
  let running = 0

  function fill(): void {
    for (const [id, run] of waiting) {
      if (worker === undefined || stopping) return
      if (run.queue === 'turn' && running >= concurrency()) continue
      waiting.delete(id)
      active.set(id, run)
      if (run.queue === 'turn') running += 1
      const lane = worker
      void runDetached(() => work(id, run, lane))
    }
  }

  async function work(id: string, run: QueueRun, lane: QueueWorker): Promise<void> {
    do {
      run.rerun = false
      try {
        await lane(run.key, run.queue, abort.signal)
        run.failures = 0
      } catch (error) {
        run.failures += 1
        log.error({ session: run.key, lane: run.queue, error }, `a turn could not go on: ${messageOf(error)}`)
      }
    } while (run.rerun && run.failures === 0 && !stopping)
    if (run.queue === 'turn') running -= 1
    if (run.failures > 0 && !stopping) await coolDown(run)
    active.delete(id)
    if (run.failures > 0) waiting.set(id, run)
    fill()
    settle()
  }

  /** Waits before the next try, without a place: others go on meanwhile. New work ends the wait. */
  async function coolDown(run: QueueRun): Promise<void> {
    const wait = new AbortController()
    run.endBackoff = () => wait.abort()
    fill()
    await sleep(backoffMs(run.failures, 1_000, 60_000, random), wait.signal)
    run.endBackoff = undefined
  }

  function quiet(): boolean {
    return active.size === 0 && (stopping || waiting.size === 0)
  }

  function settle(): void {
    if (quiet()) for (const done of idleWaiters) done()
  }

  /** Resolves when nothing is active (any more), and nothing waits either unless the engine is stopping. */
  function drained(): Promise<void> {
    if (quiet()) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        idleWaiters.delete(done)
        resolve()
      }
      idleWaiters.add(done)
    })
  }

  function coolingDown(): number {
    return [...active.values()].filter((run) => run.endBackoff !== undefined).length
  }

  return {
    wake(key, queue) {
      const id = `${queue} ${key}`
      const run = active.get(id)
      if (run !== undefined) {
        run.rerun = true
        run.endBackoff?.()
      } else if (!waiting.has(id)) {
        waiting.set(id, { key, queue, rerun: false, failures: 0, endBackoff: undefined })
      }
      fill()
    },
    start(given) {
      worker = given
      fill()
    },
    async stop(graceMs, force) {
      stopping = true
      for (const run of active.values()) run.endBackoff?.()
      settle()
      await withTimeout(drained(), graceMs, force)
      abort.abort(new Error('the gateway is stopping'))
      // What ignores its signal must not keep the process alive: its turn is taken up again at the next start.
      await withTimeout(drained(), 5_000)
    },
    idle: drained,
    load: () => ({ running, waiting: waiting.size + coolingDown() }),
  }
}
