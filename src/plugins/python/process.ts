/**
 * The process of a plugin in Python: started again at the next call after it has ended, a little later each time; after
 * three ends in a row the plugin is set aside.
 */
import type { Host, HostEnd, HostOptions, ServeRequest } from '../../hosts/contract.ts'
import type { HostFailure } from '../../hosts/failure.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { backoffMs } from '../../lib/wait.ts'
import type { FoundPlugin } from '../discovery.ts'
import { bareName } from '../enabled.ts'
import type { PythonPluginsDeps, PythonProcess } from './contract.ts'
import { thrownBy, unloadable } from './failures.ts'

export interface PythonProcessDeps extends PythonPluginsDeps {
  readonly plugin: FoundPlugin
  /** What the plugin asks for within its calls. */
  readonly serve: ServeRequest
  /** What it asks for outside of them. */
  readonly serveOwn: ServeRequest
  readonly log: Logger
}

/** One host; another one takes its place when a plugin cannot be loaded in it any more. */
interface Era {
  readonly host: Host
  /** The process in which the plugin is known to be loaded: how many had been started by then; -1 for none. */
  loaded: number
}

const maxDeaths = 3
const firstRestartMs = 1_000
const longestRestartMs = 30_000
/** Below the time that the loader waits: then it says where the plugin was. */
const loadMs = 29_000
/** Threads that wait count, too: each has a stack. */
const memoryMb = 1_024

export function createPythonProcess(deps: PythonProcessDeps): PythonProcess {
  const { plugin, clock, random, pause, log } = deps
  const { id } = plugin
  const renewals = new Set<() => Promise<unknown>>()
  const doubts = new Set<string>()
  const ended = new AbortController()
  let isOpen = false
  /** Ends in a row; a call that was carried out begins the count anew. */
  let deaths = 0
  let notBefore = 0
  let fault = ''
  let era = begin()

  function begin(): Era {
    const { env, command } = deps.surroundingsOf(plugin)
    const options: HostOptions = {
      name: `plugin ${id}`,
      language: 'python',
      modules: [
        {
          name: id,
          path: plugin.entryFile,
          entry: 'register',
          importAs: `hermes_plugin_${bareName(id).replace(/\W/g, '_')}`,
          plugin: { id, directory: plugin.folder, version: plugin.manifest.version, profile: 'default' },
        },
      ],
      env,
      command,
      cwd: deps.home,
      log,
      onRequest: deps.serve,
      onOwnRequest: deps.serveOwn,
      onEnd,
      limits: { loadMs, memoryMb, ...deps.limits },
    }
    return { host: deps.createHost(options), loaded: -1 }
  }

  function onEnd({ expected, how }: HostEnd): void {
    if (expected || !isOpen) return
    era.loaded = -1
    died(how)
  }

  function died(how: string): void {
    if (ended.signal.aborted) return
    deaths += 1
    if (deaths >= maxDeaths) {
      fault = `its process has ended ${maxDeaths} times in a row (${how}); nothing of it is called until it is loaded again`
      log.error({ deaths }, `plugin ${id} is set aside: ${fault}`)
      return
    }
    const ms = backoffMs(deaths, firstRestartMs, longestRestartMs, random)
    notBefore = clock() + ms
    log.warn({ deaths, ms }, `the process of plugin ${id} ${how}; it is started again when it is needed`)
    if (renewals.size > 0) void revive(ms)
  }

  async function revive(ms: number): Promise<void> {
    await pause(ms, ended.signal)
    if (ended.signal.aborted || renewals.size === 0 || fault !== '') return
    try {
      await loaded(era)
    } catch (error) {
      log.warn({ error }, `plugin ${id} could not be started again: ${messageOf(error)}`)
    }
  }

  function isRunning(): boolean {
    return era.host.status().state === 'running'
  }

  /** Why nothing can be called now. */
  function obstacle(): string | undefined {
    if (fault !== '') return `It is set aside: ${fault}.`
    return era.host.status().state === 'idle' && clock() < notBefore
      ? 'It has just ended, and is started again in a moment.'
      : undefined
  }

  async function loaded(used: Era): Promise<void> {
    if (used.loaded === used.host.status().starts) return
    const result = await used.host.load(id)
    if (!result.ok) throw notLoadedAgain(used, result.failure)
    const { starts } = used.host.status()
    const isFirst = !isOpen
    const isNew = used.loaded !== starts
    used.loaded = starts
    if (isFirst || !isNew) return
    log.info({}, `plugin ${id} runs again`)
    for (const renew of renewals) void renew().catch((error: unknown) => tellFailed(error))
  }

  function tellFailed(error: unknown): void {
    log.warn({ error }, `plugin ${id} failed while it was started again: ${messageOf(error)}`)
  }

  /** A module that could not be loaded stays so until the process is another one. */
  function notLoadedAgain(used: Era, failure: HostFailure): unknown {
    if (isOpen && failure.kind === 'unloadable' && !failure.killed && era === used) {
      void used.host.stop()
      era = begin()
      died(`could not load it again: ${failure.error.detail}`)
    }
    return isOpen ? failure.error : unloadable(failure, id)
  }

  async function stop(): Promise<void> {
    ended.abort()
    await era.host.stop()
  }

  return {
    renewals,
    isRunning,
    async open() {
      try {
        await loaded(era)
        isOpen = true
      } catch (error) {
        await stop()
        throw error
      }
    },
    async call(callback, { args = [], ...call }) {
      const reason = obstacle()
      if (reason !== undefined) throw new HermesError('plugins/process-gone', reason)
      const used = era
      await loaded(used)
      const result = await used.host.call({ ...call, module: id, function: callback, args })
      if (result.ok || result.failure.kind === 'threw' || result.failure.kind === 'unserialisable') deaths = 0
      if (result.ok) return result.value
      throw thrownBy(result.failure, call.signal)
    },
    fault: () => fault,
    doubts: () => [...doubts],
    doubt(sentence) {
      if (doubts.has(sentence)) return
      doubts.add(sentence)
      log.warn({}, `plugin ${id}: ${sentence}`)
    },
    stop,
  }
}
