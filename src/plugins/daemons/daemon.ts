/**
 * One piece of work beside the conversations: started, run from time to time, started again after a failure, stopped.
 */
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { backoffMs, within } from '../../lib/wait.ts'
import type { Awaitable } from '../../middleware/contract.ts'
import type { DaemonOptions } from '../contract.ts'

export interface DaemonDeps {
  readonly log: Logger
  readonly clock: () => number
  /** Resolves after `ms`, or when the signal aborts; never rejects. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
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
const startupMs = 30_000
const defaultShutdownMs = 5_000
const firstRestartMs = 2_000
const longestRestartMs = 300_000

export function createDaemon(spec: DaemonSpec, { log, clock, pause, random }: DaemonDeps): Daemon {
  const { owner, name, periodicTask: task, shutdownTimeoutMs: shutdownMs = defaultShutdownMs } = spec
  const fields = { plugin: owner, daemon: name }
  const ended = new AbortController()
  let state: DaemonStatus['state'] = 'waiting'
  let restarts = 0
  let lastError: DaemonStatus['lastError'] = null
  let nextRun: number | null = null
  /** Its startup went well, and its shutdown has not been called since. */
  let isUp = false
  let life: Promise<void> | undefined
  let stopped: Promise<void> | undefined

  async function live(firstStartup: () => void): Promise<void> {
    const { signal } = ended
    let failures = 0
    while (!signal.aborted) {
      try {
        enter('starting')
        await spec.startup()
        isUp = true
        enter('running')
        firstStartup()
        await runFromTimeToTime(signal, () => {
          failures = 0
        })
        return
      } catch (error) {
        note(error)
        if (signal.aborted) return
        failures += 1
        restarts += 1
        const ms = backoffMs(failures, firstRestartMs, longestRestartMs, random)
        log.error(
          { ...fields, error, ms },
          `daemon ${name} of plugin ${owner} failed: ${messageOf(error)}; it is started again`,
        )
        enter('restarting')
        await shutDown(shutdownMs)
        firstStartup()
        await pause(ms, signal)
      }
    }
  }

  async function runFromTimeToTime(signal: AbortSignal, wentWell: () => void): Promise<void> {
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
      wentWell()
    }
  }

  function enter(next: DaemonStatus['state']): void {
    if (state !== 'stopping' && state !== 'stopped') state = next
  }

  function note(error: unknown): void {
    lastError = { at: clock(), text: messageOf(error) }
  }

  async function shutDown(ms: number): Promise<void> {
    if (!isUp) return
    isUp = false
    try {
      const { done } = await within(called(spec.shutdown), ms, undefined, pause)
      if (!done) log.warn(fields, `daemon ${name} of plugin ${owner} took too long to stop; it is not waited for`)
    } catch (error) {
      note(error)
      log.warn({ ...fields, error }, `daemon ${name} of plugin ${owner} failed while it stopped: ${messageOf(error)}`)
    }
  }

  async function stop(running: Promise<void> | undefined): Promise<void> {
    state = 'stopping'
    ended.abort()
    const until = clock() + shutdownMs
    // What runs may end in peace, but must leave time for the shutdown.
    if (running !== undefined) await within(running, shutdownMs / 2, undefined, pause)
    await shutDown(Math.max(until - clock(), 0))
    state = 'stopped'
    // A startup that was still under way may have opened something.
    void running?.then(() => shutDown(shutdownMs))
  }

  return {
    owner,
    name,
    status: () => ({ name, owner, state, restarts, lastError, nextRun }),
    async start() {
      if (life !== undefined || stopped !== undefined) return
      const first = Promise.withResolvers<void>()
      life = live(first.resolve)
      await within(Promise.race([first.promise, life]), startupMs, ended.signal, pause)
    },
    stop() {
      stopped ??= stop(life)
      return stopped
    },
  }
}

/** A throw becomes a rejection. */
async function called(callback: () => Awaitable<unknown>): Promise<unknown> {
  return await callback()
}
