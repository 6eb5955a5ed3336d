/**
 * The process of a plugin in Python: started again at the next call after it has ended, a little later each time; after
 * three ends in a row the plugin is set aside.
 */
import type { Host, HostExit, HostOptions, HostRequestHandler } from '../../hosts/contract.ts'
import type { HostFailure } from '../../hosts/failure.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { backoffMs } from '../../lib/timers.ts'
import { bareName } from '../desired-state.ts'
import type { DiscoveredPlugin } from '../discovery.ts'
import type { PythonPluginsDeps, PythonProcess } from './contract.ts'
import { toThrownError, toUnloadableError } from './python-error.ts'

export interface PythonProcessDeps extends PythonPluginsDeps {
  readonly plugin: DiscoveredPlugin
  /** What the plugin asks for within its calls. */
  readonly serve: HostRequestHandler
  /** What it asks for outside of them. */
  readonly serveOutsideCalls: HostRequestHandler
  readonly log: Logger
}

/** One host; another one takes its place when a plugin cannot be loaded in it any more. */
interface HostGeneration {
  readonly host: Host
  /** The process in which the plugin is known to be loaded: how many had been started by then; -1 for none. */
  loadedInStart: number
}

const maxConsecutiveExits = 3
const minRestartDelayMs = 1_000
const maxRestartDelayMs = 30_000
/** Below the time that the loader waits: then it says where the plugin was. */
const loadTimeoutMs = 29_000
/** Threads that wait count, too: each has a stack. */
const memoryMb = 1_024

export function createPythonProcess(deps: PythonProcessDeps): PythonProcess {
  const { plugin, clock, random, sleep, log } = deps
  const { id } = plugin
  const restartTasks = new Set<() => Promise<unknown>>()
  const warnings = new Set<string>()
  const stopController = new AbortController()
  let isOpen = false
  /** Ends in a row; a call that was carried out begins the count anew. */
  let consecutiveExits = 0
  let nextStartAt = 0
  let failureReason = ''
  let generation = createGeneration()

  function createGeneration(): HostGeneration {
    const { env, command } = deps.launchOptionsOf(plugin)
    const options: HostOptions = {
      name: `plugin ${id}`,
      language: 'python',
      modules: [
        {
          name: id,
          path: plugin.entryFile,
          entry: 'register',
          importAs: `hermes_plugin_${bareName(id).replace(/\W/g, '_')}`,
          plugin: { id, directory: plugin.directory, version: plugin.manifest.version, profile: 'default' },
        },
      ],
      env,
      command,
      cwd: deps.home,
      log,
      onRequest: deps.serve,
      onBackgroundRequest: deps.serveOutsideCalls,
      onExit,
      limits: { loadTimeoutMs, memoryMb, ...deps.limits },
    }
    return { host: deps.createHost(options), loadedInStart: -1 }
  }

  function onExit({ expected, reason }: HostExit): void {
    if (expected || !isOpen) return
    generation.loadedInStart = -1
    recordExit(reason)
  }

  function recordExit(how: string): void {
    if (stopController.signal.aborted) return
    consecutiveExits += 1
    if (consecutiveExits >= maxConsecutiveExits) {
      failureReason = `its process has ended ${maxConsecutiveExits} times in a row (${how}); nothing of it is called until it is loaded again`
      log.error({ deaths: consecutiveExits }, `plugin ${id} is set aside: ${failureReason}`)
      return
    }
    const ms = backoffMs(consecutiveExits, minRestartDelayMs, maxRestartDelayMs, random)
    nextStartAt = clock() + ms
    log.warn(
      { deaths: consecutiveExits, ms },
      `the process of plugin ${id} ${how}; it is started again when it is needed`,
    )
    if (restartTasks.size > 0) void restartLater(ms)
  }

  async function restartLater(ms: number): Promise<void> {
    await sleep(ms, stopController.signal)
    if (stopController.signal.aborted || restartTasks.size === 0 || failureReason !== '') return
    try {
      await ensureLoaded(generation)
    } catch (error) {
      log.warn({ error }, `plugin ${id} could not be started again: ${messageOf(error)}`)
    }
  }

  function isRunning(): boolean {
    return generation.host.status().state === 'running'
  }

  /** Why nothing can be called now. */
  function unavailableReason(): string | undefined {
    if (failureReason !== '') return `It is set aside: ${failureReason}.`
    return generation.host.status().state === 'idle' && clock() < nextStartAt
      ? 'It has just ended, and is started again in a moment.'
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
    log.info({}, `plugin ${id} runs again`)
    for (const renew of restartTasks) void renew().catch((error: unknown) => logRestartFailure(error))
  }

  function logRestartFailure(error: unknown): void {
    log.warn({ error }, `plugin ${id} failed while it was started again: ${messageOf(error)}`)
  }

  /** A module that could not be loaded stays so until the process is another one. */
  function handleLoadFailure(used: HostGeneration, failure: HostFailure): unknown {
    if (isOpen && failure.kind === 'unloadable' && !failure.killed && generation === used) {
      void used.host.stop()
      generation = createGeneration()
      recordExit(`could not load it again: ${failure.error.detail}`)
    }
    return isOpen ? failure.error : toUnloadableError(failure, id)
  }

  async function stop(): Promise<void> {
    stopController.abort()
    await generation.host.stop()
  }

  return {
    restartTasks,
    isRunning,
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
      if (result.ok || result.failure.kind === 'threw' || result.failure.kind === 'unserialisable') consecutiveExits = 0
      if (result.ok) return result.value
      throw toThrownError(result.failure, call.signal)
    },
    failureReason: () => failureReason,
    warnings: () => [...warnings],
    addWarning(sentence) {
      if (warnings.has(sentence)) return
      warnings.add(sentence)
      log.warn({}, `plugin ${id}: ${sentence}`)
    },
    stop,
  }
}
