/**
 * The engine of a single process: a map of sessions at work and a queue of those that wait for a place.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { backoffMs, pause, within } from '../lib/wait.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Engine, Lane, LaneWorker } from './engine.ts'

export interface EmbeddedEngineDeps {
  readonly log: Logger
  readonly random: () => number
  /** Turns at the same time; control lanes are not counted. */
  readonly concurrency: () => number
}

interface Run {
  readonly key: SessionKey
  readonly lane: Lane
  /** Work came while the worker was busy: it may have looked too early, so it looks once more. */
  again: boolean
  /** In a row. */
  failures: number
  /** Ends the pause after a failure; undefined while there is none. */
  hurryUp: (() => void) | undefined
}

export function createEmbeddedEngine({ log, random, concurrency }: EmbeddedEngineDeps): Engine {
  // Whoever wakes a session may be in the middle of another one: their calls are not its calls.
  const outside = AsyncLocalStorage.snapshot()
  const active = new Map<string, Run>()
  const waiting = new Map<string, Run>()
  const abort = new AbortController()
  const finished = new Set<() => void>()
  let worker: LaneWorker | undefined
  let stopping = false
  let running = 0

  function fill(): void {
    for (const [id, run] of waiting) {
      if (worker === undefined || stopping) return
      if (run.lane === 'turn' && running >= concurrency()) continue
      waiting.delete(id)
      active.set(id, run)
      if (run.lane === 'turn') running += 1
      const lane = worker
      void outside(() => work(id, run, lane))
    }
  }

  async function work(id: string, run: Run, lane: LaneWorker): Promise<void> {
    do {
      run.again = false
      try {
        await lane(run.key, run.lane, abort.signal)
        run.failures = 0
      } catch (error) {
        run.failures += 1
        log.error({ session: run.key, lane: run.lane, error }, `a turn could not go on: ${messageOf(error)}`)
      }
    } while (run.again && run.failures === 0 && !stopping)
    if (run.lane === 'turn') running -= 1
    if (run.failures > 0 && !stopping) await coolDown(run)
    active.delete(id)
    if (run.failures > 0) waiting.set(id, run)
    fill()
    settle()
  }

  /** Waits before the next try, without a place: others go on meanwhile. New work ends the wait. */
  async function coolDown(run: Run): Promise<void> {
    const wait = new AbortController()
    run.hurryUp = () => wait.abort()
    fill()
    await pause(backoffMs(run.failures, 1_000, 60_000, random), wait.signal)
    run.hurryUp = undefined
  }

  function quiet(): boolean {
    return active.size === 0 && (stopping || waiting.size === 0)
  }

  function settle(): void {
    if (quiet()) for (const done of finished) done()
  }

  /** Resolves when nothing is active (any more), and nothing waits either unless the engine is stopping. */
  function drained(): Promise<void> {
    if (quiet()) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        finished.delete(done)
        resolve()
      }
      finished.add(done)
    })
  }

  function coolingDown(): number {
    return [...active.values()].filter((run) => run.hurryUp !== undefined).length
  }

  return {
    wake(key, lane) {
      const id = `${lane} ${key}`
      const run = active.get(id)
      if (run !== undefined) {
        run.again = true
        run.hurryUp?.()
      } else if (!waiting.has(id)) {
        waiting.set(id, { key, lane, again: false, failures: 0, hurryUp: undefined })
      }
      fill()
    },
    start(given) {
      worker = given
      fill()
    },
    async stop(graceMs, hurry) {
      stopping = true
      for (const run of active.values()) run.hurryUp?.()
      settle()
      await within(drained(), graceMs, hurry)
      abort.abort(new Error('the gateway is stopping'))
      // What ignores its signal must not keep the process alive: its turn is taken up again at the next start.
      await within(drained(), 5_000)
    },
    idle: drained,
    load: () => ({ running, waiting: waiting.size + coolingDown() }),
  }
}
