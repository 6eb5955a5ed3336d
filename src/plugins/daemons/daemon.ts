/**
 * Runs one background daemon of a plugin: its startup, its periodic task, restarts after failures, and its shutdown.
 */
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { backoffMs, withTimeout } from '../../lib/timers.ts'
import type { Awaitable } from '../../middleware/contract.ts'
import type { DaemonOptions } from '../contract.ts'

export interface DaemonDeps {
  readonly log: Logger
  readonly clock: () => number
  /** Resolves after `ms`, or when the signal aborts; never rejects. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Between 0 and 1. */
  readonly random: () => number
}

export interface DaemonSpec extends DaemonOptions {
  /** The plugin's id. */
  readonly owner: string
  readonly name: string
  startup(): Awaitable<unknown>
  shutdown(): Awaitable<unknown>
}

export interface DaemonStatus {
  readonly name: string
  readonly owner: string
  /** `restarting`: it failed and waits for the next start. */
  readonly state: 'waiting' | 'starting' | 'running' | 'restarting' | 'stopping' | 'stopped'
  readonly restarts: number
  readonly lastError: { readonly at: number; readonly text: string } | null
  /** The next run of the periodic task, ms since 1970; null while it runs or without a task. */
  readonly nextRun: number | null
}

export interface Daemon {
  readonly owner: string
  readonly name: string
  status(): DaemonStatus
  /** Resolves when the first startup succeeded, failed or timed out. Never rejects. */
  start(): Promise<void>
  /** Resolves within the shutdown timeout. May be called twice, also before `start`. Never rejects. */
  stop(): Promise<void>
}

/** How long the next daemon waits for this startup. */
const startupTimeoutMs = 30_000
const defaultShutdownTimeoutMs = 5_000
const minRestartDelayMs = 2_000
const maxRestartDelayMs = 300_000

export function createDaemon(spec: DaemonSpec, { log, clock, sleep, random }: DaemonDeps): Daemon {
  const { owner, name, periodicTask: task, shutdownTimeoutMs: shutdownMs = defaultShutdownTimeoutMs } = spec
  const stopController = new AbortController()
  let state: DaemonStatus['state'] = 'waiting'
  let restarts = 0
  let lastError: DaemonStatus['lastError'] = null
  let nextRun: number | null = null
  /** The startup succeeded, and `shutdown` was not called since. */
  let isStarted = false
  let runningPromise: Promise<void> | undefined
  let stopped: Promise<void> | undefined

  async function runUntilStopped(firstStartup: () => void): Promise<void> {
    const { signal } = stopController
    let failures = 0
    while (!signal.aborted) {
      try {
        setState('starting')
        await spec.startup()
        isStarted = true
        setState('running')
        firstStartup()
        await runPeriodicTask(signal, () => {
          failures = 0
        })
        return
      } catch (error) {
        recordError(error)
        if (signal.aborted) return
        failures += 1
        restarts += 1
        const ms = backoffMs(failures, minRestartDelayMs, maxRestartDelayMs, random)
        log.error(
          { event: 'daemon.failed', plugin: owner, daemon: name, err: error, ms },
          'a daemon failed and will be restarted',
        )
        setState('restarting')
        await shutDown(shutdownMs)
        firstStartup()
        await sleep(ms, signal)
      }
    }
  }

  async function runPeriodicTask(signal: AbortSignal, onSuccess: () => void): Promise<void> {
    if (task === undefined) return
    let isFirst = task.runAtStart === true
    while (!signal.aborted) {
      if (!isFirst) {
        nextRun = clock() + task.intervalMs
        await sleep(task.intervalMs, signal)
        nextRun = null
        if (signal.aborted) return
      }
      isFirst = false
      await task.run(signal)
      onSuccess()
    }
  }

  function setState(next: DaemonStatus['state']): void {
    if (state !== 'stopping' && state !== 'stopped') state = next
  }

  function recordError(error: unknown): void {
    lastError = { at: clock(), text: messageOf(error) }
  }

  async function shutDown(ms: number): Promise<void> {
    if (!isStarted) return
    isStarted = false
    try {
      const { done } = await withTimeout(callAsync(spec.shutdown), ms, undefined, sleep)
      if (!done)
        log.warn(
          { event: 'daemon.stop_timed_out', plugin: owner, daemon: name, ms },
          'the shutdown of a daemon timed out; the gateway continues',
        )
    } catch (error) {
      recordError(error)
      log.warn(
        { event: 'daemon.stop_failed', plugin: owner, daemon: name, err: error },
        'the shutdown of a daemon failed',
      )
    }
  }

  async function stop(running: Promise<void> | undefined): Promise<void> {
    state = 'stopping'
    stopController.abort()
    const deadline = clock() + shutdownMs
    // A running task may complete, but half of the time is reserved for the shutdown.
    if (running !== undefined) await withTimeout(running, shutdownMs / 2, undefined, sleep)
    await shutDown(Math.max(deadline - clock(), 0))
    state = 'stopped'
    // A startup that completes later may have opened resources.
    void running?.then(() => shutDown(shutdownMs))
  }

  return {
    owner,
    name,
    status: () => ({ name, owner, state, restarts, lastError, nextRun }),
    async start() {
      if (runningPromise !== undefined || stopped !== undefined) return
      const first = Promise.withResolvers<void>()
      runningPromise = runUntilStopped(first.resolve)
      await withTimeout(Promise.race([first.promise, runningPromise]), startupTimeoutMs, stopController.signal, sleep)
    },
    stop() {
      stopped ??= stop(runningPromise)
      return stopped
    },
  }
}

/** Converts a thrown error into a rejection. */
async function callAsync(callback: () => Awaitable<unknown>): Promise<unknown> {
  return await callback()
}
