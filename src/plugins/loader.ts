/**
 * Loads the plugins that the configuration names, and unloads those that it names no more (contract §2.1, §2.2). A plugin
 * that cannot be loaded leaves nothing behind and harms no other.
 */
import { sep } from 'node:path'
import { isHermesError, messageOf } from '../lib/errors.ts'
import { type FileFingerprints, fingerprintOf, fingerprintsOf, hasChanged } from '../lib/file-fingerprint.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import { type ObserveCallback, observeAsPlugin, type RunAsPlugin } from './callback-trace.ts'
import { cataloguePlugins, matchesPluginId, type PluginCatalogue } from './catalogue.ts'
import { configEntryOf, type PluginsConfig } from './config.ts'
import { createPluginContext, type PluginServices } from './context.ts'
import type { PluginContext } from './contract.ts'
import type { DiscoveredPlugin, PluginRoot } from './discovery.ts'
import { createEntryImporter } from './entry-importer.ts'
import { locateError } from './error-location.ts'
import { createPluginConfig, settingIssues } from './plugin-config.ts'
import { createPluginReports, type PluginFailure, type PluginReport, pluginFailures } from './plugin-report.ts'
import { createRegistrations, type Registrations } from './registrations.ts'

export interface PluginLoaderDeps {
  /** The bundled ones first. */
  readonly roots: readonly PluginRoot[]
  settings(): PluginsConfig
  environment(): Readonly<Record<string, string>>
  readonly services: PluginServices
  /** Runs `register` of a plugin in Python; resolves when it has returned. Without it none is loaded. */
  readonly loadPython?: // biome-ignore lint/suspicious/noConfusingVoidType: a loader without anything to dispose returns nothing
  ((plugin: DiscoveredPlugin, context: PluginContext) => Promise<PluginProcess | void>) | undefined
  /** Told of each call of a callback of a plugin. */
  readonly observe?: ObserveCallback | undefined
  /** Runs `register` and every callback of a plugin. */
  readonly runAsPlugin?: RunAsPlugin | undefined
  /** How long `register` may take, ms; 10,000 if left out. */
  readonly registerTimeoutMs?: number
  readonly clock: () => number
  readonly log: Logger
}

/** Where a plugin runs that has a process of its own. */
export interface PluginProcess {
  /** Why nothing of it is called any more; '' while it works. */
  failureReason(): string
  /** What is odd about it, a sentence each. */
  warnings(): readonly string[]
  /** Ends it, when everything was taken back. Never rejects. */
  stop(): Promise<void>
}

export interface PluginLoader {
  /**
   * Loads and unloads plugins until the loaded ones are the enabled ones. Calls run one after the other. Never rejects.
   * @param changedFiles absolute paths of edited files: a loaded plugin that has one of them, or whose manifest or entry was
   *   edited since it was loaded, is reloaded. Left out: loaded plugins stay as they are.
   */
  sync(changedFiles?: readonly string[]): Promise<void>
  /** As of the last `sync`. */
  list(): readonly PluginReport[]
  failures(): readonly PluginFailure[]
  /** Unloads everything, the last one first. Never rejects. May be called twice. */
  stop(): Promise<void>
}

interface LoadedPlugin {
  readonly found: DiscoveredPlugin
  /** Of its manifest and its entry when it was loaded. */
  readonly fingerprints: FileFingerprints
  readonly registrations: Registrations
  readonly warnings: readonly string[]
  readonly loadMs: number
  readonly process: PluginProcess | undefined
}

const pythonUnavailable = 'plugins in Python cannot run yet'

/** What takes longer than this to fail is tried again only when its file has changed: everybody waits for it meanwhile. */
const slowFailureMs = 5_000

export function createPluginLoader(deps: PluginLoaderDeps): PluginLoader {
  const { services, clock, log, registerTimeoutMs = 10_000, runAsPlugin = (_id, work) => work() } = deps
  const importer = createEntryImporter()
  /** In the order in which they were loaded. */
  const loaded = new Map<string, LoadedPlugin>()
  const failures = new Map<string, string>()
  /** What took long to fail: its file as it was then. */
  const slowFailures = new Map<string, string>()
  let catalogue: PluginCatalogue = { plugins: [], invalid: [], warnings: [], missing: [], isEnabled: () => false }
  const stopping = new AbortController()
  let queue = Promise.resolve()
  const warned = new Set<string>()

  function hasPlugin(id: string): boolean {
    return [...loaded.keys()].some((other) => matchesPluginId(id, other))
  }

  async function sync(changedFiles?: readonly string[]): Promise<void> {
    if (stopping.signal.aborted) return
    const settings = deps.settings()
    catalogue = await cataloguePlugins({ roots: deps.roots, settings, environment: deps.environment() })
    const enabled = catalogue.plugins.filter(
      ({ desiredState, blockedReason }) => desiredState === 'enabled' && blockedReason === '',
    )
    const isStillWanted = ({ found: { id, directory }, process }: LoadedPlugin) =>
      (process?.failureReason() ?? '') === '' &&
      enabled.some(({ found }) => found.id === id && found.directory === directory)
    for (const id of slowFailures.keys()) if (!enabled.some(({ found }) => found.id === id)) slowFailures.delete(id)
    for (const id of failures.keys()) if (!slowFailures.has(id)) failures.delete(id)
    for (const one of [...loaded.values()].reverse()) if (!isStillWanted(one)) await unload(one)
    for (const one of editedPlugins(changedFiles)) await unloadForReload(one)
    for (const { found } of enabled) if (!loaded.has(found.id) && !failsSlowly(found)) await load(found)
    logWarnings()
  }

  /** In the order in which they are unloaded. */
  function editedPlugins(changedFiles: readonly string[] | undefined): LoadedPlugin[] {
    if (changedFiles === undefined) return []
    return [...loaded.values()]
      .reverse()
      .filter(
        ({ found: { directory }, fingerprints }) =>
          changedFiles.some((file) => file.startsWith(`${directory}${sep}`)) || hasChanged(fingerprints),
      )
  }

  /** A version that cannot be imported does not replace the one that works. */
  async function unloadForReload(one: LoadedPlugin): Promise<void> {
    const { found } = one
    if (found.language !== 'python') {
      importer.invalidate(found)
      try {
        await importer.importEntry(found)
      } catch (error) {
        const reason = await failureReasonOf(error, found)
        log.error(
          { event: 'plugin.reload_failed', plugin: found.id, err: error },
          'the edited plugin cannot be imported',
        )
        const warning = `its newest version cannot be imported, so the previous one stays loaded: ${reason}`
        const fingerprints = fingerprintsOf(one.fingerprints.keys())
        loaded.set(found.id, { ...one, fingerprints, warnings: [warning] })
        return
      }
    }
    await unload(one)
  }

  function failsSlowly({ id, entryFile }: DiscoveredPlugin): boolean {
    return slowFailures.has(id) && slowFailures.get(id) === fingerprintOf(entryFile)
  }

  async function load(found: DiscoveredPlugin): Promise<void> {
    const { id, entryFile } = found
    const begun = clock()
    const fingerprints = fingerprintsOf([found.manifestFile, entryFile])
    failures.delete(id)
    slowFailures.delete(id)
    const pluginLog = log.child({ plugin: id })
    const registrations = createRegistrations(id, log)
    const entry = () => configEntryOf(deps.settings(), id)
    const warnings = settingIssues(found.manifest.configSchema, entry().settings)
    const context = createPluginContext({
      plugin: found,
      services,
      registrations,
      config: createPluginConfig(found.manifest.configSchema, () => entry().settings),
      hasPlugin,
      observe: observeAsPlugin(id, deps.observe, deps.runAsPlugin),
      log: pluginLog,
    })
    let process: PluginProcess | undefined
    try {
      const running = runAsPlugin(id, () => runRegister(found, context))
      const done = await withTimeout(running, registerTimeoutMs, stopping.signal)
      if (!done.done) {
        running.catch((error: unknown) => pluginLog.debug({ error }, 'register failed after it had been given up'))
        throw new Error(
          stopping.signal.aborted ? 'the gateway stops' : `register did not end within ${registerTimeoutMs} ms`,
        )
      }
      process = done.value
    } catch (error) {
      await disposeRegistrations(registrations, id)
      const reason = await failureReasonOf(error, found)
      failures.set(id, reason)
      if (clock() - begun >= slowFailureMs) slowFailures.set(id, fingerprints.get(entryFile) ?? '')
      pluginLog.error({ error }, `plugin ${id} cannot be loaded: ${reason}`)
      return
    }
    const loadMs = clock() - begun
    loaded.set(id, { found, fingerprints, registrations, warnings, loadMs, process })
    pluginLog.info(
      { version: found.manifest.version, ms: loadMs, registered: registrations.list().length },
      `plugin ${id} loaded`,
    )
  }

  async function runRegister(found: DiscoveredPlugin, context: PluginContext): Promise<PluginProcess | undefined> {
    if (found.language === 'python') {
      if (deps.loadPython === undefined) throw new Error(pythonUnavailable)
      return (await deps.loadPython(found, context)) ?? undefined
    }
    const register = await importer.importEntry(found)
    await register(context)
    return undefined
  }

  async function unload({ found: { id }, registrations, process }: LoadedPlugin): Promise<void> {
    await disposeRegistrations(registrations, id)
    await process?.stop()
    loaded.delete(id)
    log.info({ plugin: id }, `plugin ${id} unloaded`)
  }

  async function disposeRegistrations(registrations: Registrations, id: string): Promise<void> {
    await registrations.dispose()
    await services.daemons.stopped(id)
  }

  /** Each sentence once, until it has gone and comes back. */
  function logWarnings(): void {
    const sentences = [
      ...catalogue.warnings,
      ...listFailures()
        .filter(({ id }) => !failures.has(id))
        .map(({ id, reason }) => `plugin ${id} is not loaded: ${reason}`),
      ...list().flatMap(({ id, warnings }) => warnings.map((warning) => `plugin ${id}: ${warning}`)),
    ]
    for (const sentence of sentences) if (!warned.has(sentence)) log.warn({}, sentence)
    warned.clear()
    for (const sentence of sentences) warned.add(sentence)
  }

  function list(): PluginReport[] {
    return createPluginReports(catalogue, {
      failure: (id) => failures.get(id),
      loaded(id) {
        const found = loaded.get(id)
        if (found === undefined) return undefined
        const { registrations, warnings, loadMs, process } = found
        const report = { registered: registrations.list(), hooks: services.hooks.report(id), warnings, loadMs }
        if (process === undefined) return { ...report, failureReason: '' }
        return { ...report, warnings: [...warnings, ...process.warnings()], failureReason: process.failureReason() }
      },
    })
  }

  function listFailures(): PluginFailure[] {
    return pluginFailures(list(), catalogue.isEnabled)
  }

  function enqueue(work: () => Promise<void>): Promise<void> {
    queue = queue.then(work).catch((error: unknown) => {
      log.error({ error }, `plugins could not follow the configuration: ${messageOf(error)}`)
    })
    return queue
  }

  return {
    sync: (changedFiles) => enqueue(() => sync(changedFiles)),
    list,
    failures: listFailures,
    stop() {
      stopping.abort()
      return enqueue(async () => {
        for (const one of [...loaded.values()].reverse()) await unload(one)
      })
    },
  }
}

/** With file and line. */
async function failureReasonOf(error: unknown, plugin: DiscoveredPlugin): Promise<string> {
  const unloadable = isHermesError(error, 'plugins/unloadable')
  const text = unloadable ? error.detail : messageOf(error)
  return `${await locateError(unloadable ? error.cause : error, plugin)}: ${text}`
}
