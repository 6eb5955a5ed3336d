/**
 * Runs the process of a plugin in Python. After an exit the process is restarted with the next call, after a growing delay;
 * after three consecutive exits the plugin is disabled.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Host, HostExit, HostOptions } from '../../hosts/contract.ts'
import type { HostFailure } from '../../hosts/failure.ts'
import { HermesError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { locateProfile } from '../../lib/profiles.ts'
import { backoffMs } from '../../lib/timers.ts'
import { bareName } from '../desired-state.ts'
import type { DiscoveredPlugin } from '../discovery.ts'
import type { PythonPluginsDeps, PythonProcess } from './contract.ts'
import { toThrownError, toUnloadableError } from './python-error.ts'

/** What differs between the processes of plugins. The handlers serve the requests of a plugin within and outside of its calls. */
type PythonProcessOptions = Pick<HostOptions, 'log' | 'onRequest' | 'onBackgroundRequest'> & {
  readonly plugin: DiscoveredPlugin
}

/** One host. It is replaced when the plugin cannot be loaded again in it. */
interface HostGeneration {
  readonly host: Host
  /** The environment of its processes. */
  readonly env: HostOptions['env']
  /** The number of process starts at which the plugin was loaded; -1 for none. */
  loadedInStart: number
}

const maxConsecutiveExits = 3
const minRestartDelayMs = 1_000
const maxRestartDelayMs = 30_000
/** Shorter than the timeout of the loader, so that the failure contains the location in the plugin. */
const loadTimeoutMs = 29_000
/** Includes the stacks of waiting threads. */
const memoryMb = 1_024

export function createPythonProcess(deps: PythonPluginsDeps, options: PythonProcessOptions): PythonProcess {
  const { clock, random, sleep } = deps
  const { plugin, log } = options
  const { id } = plugin
  const restartTasks = new Set<() => Promise<unknown>>()
  const warnings = new Set<string>()
  const stopController = new AbortController()
  const restarts = createRestartLimit(clock, random, log)
  let isOpen = false
  let generation = createGeneration(deps, options, onExit)

  function onExit({ expected, reason }: HostExit): void {
    if (expected || !isOpen) return
    generation.loadedInStart = -1
    recordExit(reason)
  }

  function recordExit(reason: string): void {
    if (stopController.signal.aborted) return
    const delayMs = restarts.recordExit(reason)
    if (delayMs !== undefined && restartTasks.size > 0) void restartLater(delayMs)
  }

  async function restartLater(ms: number): Promise<void> {
    await sleep(ms, stopController.signal)
    if (stopController.signal.aborted || restartTasks.size === 0 || restarts.failureReason() !== '') return
    await ensureLoaded(generation).catch(logRestartFailure)
  }

  function logRestartFailure(error: unknown): void {
    log.warn({ event: 'plugin.restart_failed', err: error }, 'the process of a plugin cannot be restarted')
  }

  function isRunning(): boolean {
    return generation.host.status().state === 'running'
  }

  /** Why no callback can be called now. */
  function unavailableReason(): string | undefined {
    if (restarts.failureReason() !== '') return `It is disabled: ${restarts.failureReason()}.`
    return generation.host.status().state === 'idle' && restarts.isDelayed()
      ? 'It ended and will be restarted shortly.'
      : undefined
  }

  async function ensureLoaded(used: HostGeneration): Promise<void> {
    if (used.loadedInStart === used.host.status().starts) return
    const result = await used.host.load(id)
    if (!result.ok) throw handleLoadFailure(used, result.failure)
    const { starts } = used.host.status()
    const isFirst = !isOpen
    const isNew = used.loadedInStart !== starts
    used.loadedInStart = starts
    if (isFirst || !isNew) return
    log.info({ event: 'plugin.process_restarted' }, 'the process of a plugin was restarted')
    for (const task of restartTasks) void task().catch(logRestartFailure)
  }

  /** A module that could not be loaded can be imported again only in a new process. */
  function handleLoadFailure(used: HostGeneration, failure: HostFailure): unknown {
    if (isOpen && failure.kind === 'unloadable' && !failure.killed && generation === used) {
      void used.host.stop()
      generation = createGeneration(deps, options, onExit)
      recordExit(`could not load it again: ${failure.error.detail}`)
    }
    return isOpen ? failure.error : toUnloadableError(failure, id)
  }

  async function stop(): Promise<void> {
    stopController.abort()
    await generation.host.stop()
  }

  function renew(): boolean {
    if (isDeepStrictEqual(deps.launchOptionsOf(plugin).env, generation.env)) return false
    void generation.host.stop()
    generation = createGeneration(deps, options, onExit)
    return true
  }

  return {
    restartTasks,
    isRunning,
    renew,
    async open() {
      try {
        await ensureLoaded(generation)
        isOpen = true
      } catch (error) {
        await stop()
        throw error
      }
    },
    async call(callback, { args = [], ...call }) {
      const reason = unavailableReason()
      if (reason !== undefined) throw new HermesError('plugins/process-gone', reason)
      const used = generation
      await ensureLoaded(used)
      const result = await used.host.call({ ...call, module: id, function: callback, args })
      if (result.ok || result.failure.kind === 'threw' || result.failure.kind === 'unserialisable')
        restarts.recordCompletedCall()
      if (result.ok) return result.value
      throw toThrownError(result.failure, call.signal)
    },
    failureReason: restarts.failureReason,
    warnings: () => [...warnings],
    addWarning(warning) {
      if (warnings.has(warning)) return
      warnings.add(warning)
      log.warn({ event: 'plugin.warning', reason: warning }, 'a plugin needs attention')
    },
    stop,
  }
}

/** Delays restarts, and disables the plugin after too many exits in a row. */
function createRestartLimit(clock: () => number, random: () => number, log: Logger) {
  let consecutiveExits = 0
  let nextStartAt = 0
  let failureReason = ''
  return {
    /** '' while it may be restarted. */
    failureReason: () => failureReason,
    isDelayed: () => clock() < nextStartAt,
    recordCompletedCall() {
      consecutiveExits = 0
    },
    /** Returns the delay of the restart; undefined when it must not be restarted. */
    recordExit(reason: string): number | undefined {
      consecutiveExits += 1
      if (consecutiveExits >= maxConsecutiveExits) {
        failureReason = `its process ended ${maxConsecutiveExits} times in a row (${reason}); the plugin is disabled until it is loaded again`
        log.error(
          { event: 'plugin.disabled', exits: consecutiveExits, reason },
          'plugin disabled after repeated failures',
        )
        return undefined
      }
      const ms = backoffMs(consecutiveExits, minRestartDelayMs, maxRestartDelayMs, random)
      nextStartAt = clock() + ms
      log.warn(
        { event: 'plugin.process_exited', exits: consecutiveExits, ms, reason },
        'the process of a plugin ended; the next call restarts it',
      )
      return ms
    },
  }
}

/** Memory providers of Hermes import their own modules by the full name. */
function moduleNameOf(id: string): string {
  const name = bareName(id).replace(/\W/g, '_')
  return id.startsWith('memory/') ? `plugins.memory.${name}` : `hermes_plugin_${name}`
}

function createGeneration(
  deps: PythonPluginsDeps,
  { plugin, log, onRequest, onBackgroundRequest }: PythonProcessOptions,
  onExit: (exit: HostExit) => void,
): HostGeneration {
  const { id, directory, entryFile, manifest } = plugin
  const { env, command } = deps.launchOptionsOf(plugin)
  const host = deps.createHost({
    name: `plugin ${id}`,
    language: 'python',
    modules: [
      {
        name: id,
        path: entryFile,
        entry: 'register',
        importAs: moduleNameOf(id),
        plugin: { id, directory, version: manifest.version, profile: locateProfile(deps.home).profile },
      },
    ],
    env,
    command,
    cwd: deps.home,
    log,
    onRequest,
    onBackgroundRequest,
    onExit,
    limits: { loadTimeoutMs, memoryMb, ...deps.limits },
  })
  return { host, env, loadedInStart: -1 }
}
