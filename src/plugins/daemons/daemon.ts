/**
 * One piece of work beside the conversations: started, run from time to time, started again after a failure, stopped.
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
  /** `restarting`: it has failed, and waits to be started again. */
  readonly state: 'waiting' | 'starting' | 'running' | 'restarting' | 'stopping' | 'stopped'
  readonly restarts: number
  readonly lastError: { readonly at: number; readonly text: string } | null
  /** Of its periodic task, ms since 1970; null while it runs, or where there is none. */
  readonly nextRun: number | null
}

export interface Daemon {
  readonly owner: string
  readonly name: string
  status(): DaemonStatus
  /** Resolves when its first startup has ended, well or not, or has taken its time. Never rejects. */
  start(): Promise<void>
  /** Resolves within its shutdown time-out. May be called twice, also before `start`. Never rejects. */
  stop(): Promise<void>
}

/** For which the daemons after it wait. */
const startupTimeoutMs = 30_000
const defaultShutdownTimeoutMs = 5_000
const minRestartDelayMs = 2_000
const maxRestartDelayMs = 300_000

export function createDaemon(spec: DaemonSpec, { log, clock, sleep: pause, random }: DaemonDeps): Daemon {
  const { owner, name, periodicTask: task, shutdownTimeoutMs: shutdownMs = defaultShutdownTimeoutMs } = spec
  const fields = { plugin: owner, daemon: name }
  const stopController = new AbortController()
  let state: DaemonStatus['state'] = 'waiting'
  let restarts = 0
  let lastError: DaemonStatus['lastError'] = null
  let nextRun: number | null = null
  /** Its startup went well, and its shutdown has not been called since. */
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
          { ...fields, error, ms },
          `daemon ${name} of plugin ${owner} failed: ${messageOf(error)}; it is started again`,
        )
        setState('restarting')
        await shutDown(shutdownMs)
        firstStartup()
        await pause(ms, signal)
      }
    }
  }

  async function runPeriodicTask(signal: AbortSignal, onSuccess: () => void): Promise<void> {
    if (task === undefined) return
    let isFirst = task.runAtStart === true
    while (!signal.aborted) {
      if (!isFirst) {
        nextRun = clock() + task.intervalMs
        await pause(task.intervalMs, signal)
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
      const { done } = await withTimeout(callAsync(spec.shutdown), ms, undefined, pause)
      if (!done) log.warn(fields, `daemon ${name} of plugin ${owner} took too long to stop; it is not waited for`)
    } catch (error) {
      recordError(error)
      log.warn({ ...fields, error }, `daemon ${name} of plugin ${owner} failed while it stopped: ${messageOf(error)}`)
    }
  }

  async function stop(running: Promise<void> | undefined): Promise<void> {
    state = 'stopping'
    stopController.abort()
    const deadline = clock() + shutdownMs
    // What runs may end in peace, but must leave time for the shutdown.
    if (running !== undefined) await withTimeout(running, shutdownMs / 2, undefined, pause)
    await shutDown(Math.max(deadline - clock(), 0))
    state = 'stopped'
    // A startup that was still under way may have opened something.
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
      await withTimeout(Promise.race([first.promise, runningPromise]), startupTimeoutMs, stopController.signal, pause)
    },
    stop() {
      stopped ??= stop(runningPromise)
      return stopped
    },
  }
}

/** A throw becomes a rejection. */
async function callAsync(callback: () => Awaitable<unknown>): Promise<unknown> {
  return await callback()
}
