/**
 * The engine of a single process: a map of sessions at work and a queue of those that wait for a place.
 */

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
}

export function createEmbeddedEngine({ log, random, concurrency }: EmbeddedEngineDeps): Engine {
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
      void work(id, run, worker)
    }
  }

  async function work(id: string, run: Run, lane: LaneWorker): Promise<void> {
    for (let failures = 0; ; ) {
      run.again = false
      try {
        await lane(run.key, run.lane, abort.signal)
        failures = 0
        if (!run.again || stopping) break
      } catch (error) {
        failures += 1
        log.error({ session: run.key, lane: run.lane, error }, `a turn could not go on: ${messageOf(error)}`)
        if (stopping) break
        await pause(backoffMs(failures, 1_000, 60_000, random), abort.signal)
        if (abort.signal.aborted) break
      }
    }
    active.delete(id)
    if (run.lane === 'turn') running -= 1
    fill()
    if (active.size === 0) for (const done of finished) done()
  }

  /** Resolves when nothing is active (any more). */
  function drained(): Promise<void> {
    if (active.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        finished.delete(done)
        resolve()
      }
      finished.add(done)
    })
  }

  return {
    wake(key, lane) {
      const id = `${lane} ${key}`
      const run = active.get(id)
      if (run !== undefined) run.again = true
      else if (!waiting.has(id)) waiting.set(id, { key, lane, again: false })
      fill()
    },
    start(given) {
      worker = given
      fill()
    },
    async stop(graceMs, hurry) {
      stopping = true
      await within(drained(), graceMs, hurry)
      abort.abort(new Error('the gateway is stopping'))
      // What ignores its signal must not keep the process alive: its turn is taken up again at the next start.
      await within(drained(), 5_000)
    },
    idle: drained,
    load: () => ({ running, waiting: waiting.size }),
  }
}
