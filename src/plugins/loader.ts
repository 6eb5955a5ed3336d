/**
 * Loads the plugins that the configuration enables, and unloads all others (contract §2.1, §2.2).
 */
import { sep } from 'node:path'
import { messageOf } from '../lib/errors.ts'
import { hasChanged } from '../lib/file-memo.ts'
import type { Logger } from '../lib/log.ts'
import { cataloguePlugins, type PluginCatalogue } from './catalogue.ts'
import type { PluginServices } from './context.ts'
import type { DiscoveredPlugin } from './discovery.ts'
import type { LoadedPlugin, PluginLoaderDeps } from './load-plugin.ts'
import { createLoadedPlugins } from './loaded-plugins.ts'
import {
  createPluginReports,
  type LoadedPluginReport,
  type PluginFailure,
  type PluginReport,
  pluginFailures,
} from './plugin-report.ts'

export type OnWait = (remaining: readonly DiscoveredPlugin[]) => void

export interface PluginLoader {
  /**
   * Loads and unloads plugins until the loaded plugins are the enabled ones. Calls run one after the other. Never rejects.
   * @param changedFiles absolute paths of edited files: a loaded plugin is reloaded when it contains one of them, or when
   *   its manifest or entry was edited since it was loaded. If omitted, loaded plugins are not reloaded.
   * @param onWait called before it waits for the process of a plugin, with all plugins that are not loaded yet
   */
  sync(changedFiles?: readonly string[], onWait?: OnWait): Promise<void>
  /** Returns the state after the last `sync`. */
  list(): readonly PluginReport[]
  failures(): readonly PluginFailure[]
  /** Unloads all plugins in reverse order. Never rejects. May be called twice. */
  stop(): Promise<void>
}

export function createPluginLoader(deps: PluginLoaderDeps): PluginLoader {
  const { log, services } = deps
  const stopping = new AbortController()
  const table = createLoadedPlugins(deps, stopping.signal)
  const logWarnings = createWarningLog(log)
  let catalogue: PluginCatalogue = { plugins: [], invalid: [], warnings: [], missing: [], isEnabled: () => false }
  let queue = Promise.resolve()

  async function sync(changedFiles?: readonly string[], onWait?: OnWait): Promise<void> {
    if (stopping.signal.aborted) return
    const settings = deps.settings()
    catalogue = await cataloguePlugins(deps.roots, settings, deps.environment())
    const wanted = catalogue.plugins.filter(({ desiredState }) => desiredState === 'enabled')
    const enabled = wanted.filter(({ blockedReason }) => blockedReason === '').map(({ found: plugin }) => plugin)
    // Wrong permissions, a broken manifest or a missing variable are no decision of the owner, and a guardrail must not
    // disappear with them.
    const isStillEnabled = ({ found: { id, directory } }: LoadedPlugin) =>
      catalogue.isEnabled(id) &&
      [...wanted.map(({ found: plugin }) => plugin), ...catalogue.invalid].some(
        (candidate) => candidate.id === id && candidate.directory === directory,
      )
    table.forgetFailures((id) => enabled.some((plugin) => plugin.id === id))
    for (const plugin of table.list().toReversed()) if (!isStillEnabled(plugin)) await table.unload(plugin)
    const outdated = outdatedPlugins(table.list(), changedFiles)
    const early = startEarly(enabled.filter((plugin) => startsEarly(plugin) && table.mayLoad(plugin)))
    for (const [index, discovered] of enabled.entries()) {
      if (discovered.language === 'python') onWait?.(enabled.slice(index))
      const previous = outdated.find((plugin) => plugin.found.id === discovered.id)
      const started = early.get(discovered.id)
      if (started !== undefined) await started.takeTurn()
      else if (stopping.signal.aborted) continue
      else if (previous !== undefined) await table.reload(discovered, previous)
      else if (table.mayLoad(discovered)) await table.load(discovered)
    }
    const unloadable = failures().filter(({ id, state }) => table.failure(id) === undefined && state !== 'old version')
    // A process logs its warnings itself, as they occur.
    const plugins = list().map(({ id, warnings }) => {
      const logged = new Set(table.get(id)?.process?.warnings())
      return { id, warnings: warnings.filter((warning) => !logged.has(warning)) }
    })
    logWarnings(catalogue.warnings, unloadable, plugins)
  }

  /** Processes start beside each other; each plugin registers when it has its turn, so that the order stays the same. */
  function startEarly(plugins: readonly DiscoveredPlugin[]): ReadonlyMap<string, { takeTurn(): Promise<void> }> {
    return new Map(
      plugins.map((plugin) => {
        const turn = Promise.withResolvers<void>()
        const loading = table.load(plugin, turn.promise)
        const takeTurn = () => {
          turn.resolve()
          return loading
        }
        return [plugin.id, { takeTurn }]
      }),
    )
  }

  function list(): PluginReport[] {
    return createPluginReports(catalogue, {
      failure: table.failure,
      loaded(id) {
        const plugin = table.get(id)
        return plugin === undefined ? undefined : createLoadedReport(services, plugin)
      },
    })
  }

  function failures(): PluginFailure[] {
    return pluginFailures(list(), catalogue.isEnabled)
  }

  function enqueue(task: () => Promise<void>): Promise<void> {
    queue = queue.then(task).catch((error: unknown) => {
      log.error(
        { event: 'plugin.sync_failed', err: error },
        `plugins do not match the configuration: ${messageOf(error)}`,
      )
    })
    return queue
  }

  return {
    sync: (changedFiles, onWait) => enqueue(() => sync(changedFiles, onWait)),
    list,
    failures,
    stop() {
      stopping.abort()
      return enqueue(async () => {
        for (const plugin of table.list().toReversed()) await table.unload(plugin)
      })
    },
  }
}

/** Logs a warning again only after it was absent in between. */
function createWarningLog(log: Logger) {
  let logged: ReadonlySet<string> = new Set()
  return (
    warnings: readonly string[],
    unloadable: readonly PluginFailure[],
    plugins: readonly Pick<PluginReport, 'id' | 'warnings'>[],
  ): void => {
    const entries = [
      ...warnings.map((warning) => ({ fields: { reason: warning }, isLoaded: true })),
      ...unloadable.map(({ id, reason }) => ({ fields: { plugin: id, reason }, isLoaded: false })),
      ...plugins.flatMap((plugin) =>
        plugin.warnings.map((warning) => ({ fields: { plugin: plugin.id, reason: warning }, isLoaded: true })),
      ),
    ].map((entry) => ({ ...entry, key: JSON.stringify(entry) }))
    for (const { fields, isLoaded, key } of entries) {
      if (logged.has(key)) continue
      if (isLoaded) log.warn({ event: 'plugin.warning', ...fields }, 'a plugin needs attention')
      else log.warn({ event: 'plugin.not_loaded', ...fields }, 'plugin is not loaded')
    }
    logged = new Set(entries.map(({ key }) => key))
  }
}

/** A plugin that requires others may import or call them while it is loading. */
function startsEarly({ language, manifest }: DiscoveredPlugin): boolean {
  return language === 'python' && manifest.requiresPlugins.length === 0
}

/** Plugins that were edited, or whose process is disabled after repeated failures. */
function outdatedPlugins(
  loaded: readonly LoadedPlugin[],
  changedFiles: readonly string[] | undefined,
): readonly LoadedPlugin[] {
  const isEdited = ({ found: { directory }, fingerprints }: LoadedPlugin) =>
    changedFiles !== undefined &&
    (changedFiles.some((file) => file.startsWith(`${directory}${sep}`)) || hasChanged(fingerprints))
  return loaded.filter((plugin) => isEdited(plugin) || (plugin.process?.failureReason() ?? '') !== '')
}

function createLoadedReport({ hooks }: PluginServices, plugin: LoadedPlugin): LoadedPluginReport {
  const { found: discovered, registrations, problem, warnings, loadMs, process } = plugin
  return {
    registered: registrations.list(),
    hooks: hooks.report(discovered.id),
    problem,
    warnings: [...(problem === '' ? [] : [problem]), ...warnings, ...(process?.warnings() ?? [])],
    loadMs,
    failureReason: process?.failureReason() ?? '',
  }
}
