/**
 * Loads the plugins that the configuration enables, and unloads all others (contract §2.1, §2.2). A plugin that cannot be
 * loaded leaves no registrations behind and does not affect other plugins.
 */
import { sep } from 'node:path'
import { messageOf } from '../lib/errors.ts'
import { fingerprintOf, fingerprintsOf, hasChanged } from '../lib/file-fingerprint.ts'
import { cataloguePlugins, matchesPluginId, type PluginCatalogue } from './catalogue.ts'
import type { DiscoveredPlugin, PluginRoot } from './discovery.ts'
import { createEntryImporter } from './entry-importer.ts'
import { failureReasonOf, type LoadedPlugin, type LoadPluginDeps, loadPlugin, unloadPlugin } from './load-plugin.ts'
import {
  createPluginReports,
  type LoadedPluginReport,
  type PluginFailure,
  type PluginReport,
  pluginFailures,
} from './plugin-report.ts'

export interface PluginLoaderDeps extends LoadPluginDeps {
  /** The bundled plugins first. */
  readonly roots: readonly PluginRoot[]
  environment(): Readonly<Record<string, string>>
}

export interface PluginLoader {
  /**
   * Loads and unloads plugins until the loaded plugins are the enabled ones. Calls run one after the other. Never rejects.
   * @param changedFiles absolute paths of edited files: a loaded plugin is reloaded when it contains one of them, or when
   *   its manifest or entry was edited since it was loaded. If omitted, loaded plugins are not reloaded.
   */
  sync(changedFiles?: readonly string[]): Promise<void>
  /** As of the last `sync`. */
  list(): readonly PluginReport[]
  failures(): readonly PluginFailure[]
  /** Unloads all plugins in reverse order. Never rejects. May be called twice. */
  stop(): Promise<void>
}

interface LoaderState {
  catalogue: PluginCatalogue
  /** In the order of loading. */
  readonly loaded: Map<string, LoadedPlugin>
  readonly failures: Map<string, string>
  /** Fingerprints of the entries of plugins that took long to fail. */
  readonly slowFailures: Map<string, string>
  /** Warnings of the last `sync`. */
  logged: ReadonlySet<string>
}

/** A plugin that takes longer than this to fail is retried only after an edit, because other plugins wait for it. */
const slowFailureMs = 5_000

export function createPluginLoader(deps: PluginLoaderDeps): PluginLoader {
  const { log } = deps
  const importer = createEntryImporter()
  const stopping = new AbortController()
  const state: LoaderState = {
    catalogue: { plugins: [], invalid: [], warnings: [], missing: [], isEnabled: () => false },
    loaded: new Map(),
    failures: new Map(),
    slowFailures: new Map(),
    logged: new Set(),
  }
  const { loaded, failures, slowFailures } = state
  let queue = Promise.resolve()

  const hasPlugin = (id: string) => [...loaded.keys()].some((other) => matchesPluginId(id, other))

  async function sync(changedFiles?: readonly string[]): Promise<void> {
    if (stopping.signal.aborted) return
    const settings = deps.settings()
    state.catalogue = await cataloguePlugins({ roots: deps.roots, settings, environment: deps.environment() })
    const enabled = state.catalogue.plugins.filter(
      ({ desiredState, blockedReason }) => desiredState === 'enabled' && blockedReason === '',
    )
    const isStillEnabled = ({ found: { id, directory }, process }: LoadedPlugin) =>
      (process?.failureReason() ?? '') === '' &&
      enabled.some(({ found }) => found.id === id && found.directory === directory)
    for (const id of slowFailures.keys()) if (!enabled.some(({ found }) => found.id === id)) slowFailures.delete(id)
    for (const id of failures.keys()) if (!slowFailures.has(id)) failures.delete(id)
    for (const plugin of [...loaded.values()].reverse()) if (!isStillEnabled(plugin)) await unload(plugin)
    const previous = await unloadEdited(changedFiles)
    for (const { found } of enabled)
      if (!loaded.has(found.id) && !isKnownSlowFailure(slowFailures, found)) await load(found, previous.get(found.id))
    logWarnings()
  }

  /** Resolves with the plugins that were unloaded. */
  async function unloadEdited(changedFiles: readonly string[] | undefined): Promise<ReadonlyMap<string, LoadedPlugin>> {
    const unloaded = new Map<string, LoadedPlugin>()
    for (const plugin of editedPlugins(loaded, changedFiles))
      if (await unloadForReload(plugin)) unloaded.set(plugin.found.id, plugin)
    return unloaded
  }

  /** Returns whether it was unloaded: a version that cannot be imported does not replace a working one. */
  async function unloadForReload(plugin: LoadedPlugin): Promise<boolean> {
    const { found } = plugin
    if (found.language !== 'python') {
      importer.invalidate(found)
      try {
        await importer.importEntry(found)
      } catch (error) {
        const reason = await failureReasonOf(error, found)
        log.error(
          { event: 'plugin.reload_failed', plugin: found.id, err: error, reason },
          'the edited plugin cannot be imported',
        )
        const warning = `its newest version cannot be imported, so the previous one stays loaded: ${reason}`
        const fingerprints = fingerprintsOf(plugin.fingerprints.keys())
        loaded.set(found.id, { ...plugin, fingerprints, warnings: [warning] })
        return false
      }
    }
    await unload(plugin)
    return true
  }

  async function load(found: DiscoveredPlugin, previous: LoadedPlugin | undefined): Promise<void> {
    const { id, entryFile } = found
    const startedAt = deps.clock()
    const fingerprint = fingerprintOf(entryFile)
    failures.delete(id)
    slowFailures.delete(id)
    try {
      loaded.set(id, await loadPlugin(deps, found, { importer, hasPlugin, signal: stopping.signal }))
    } catch (error) {
      const reason = await failureReasonOf(error, found)
      failures.set(id, reason)
      if (deps.clock() - startedAt >= slowFailureMs) slowFailures.set(id, fingerprint)
      log.error({ event: 'plugin.load_failed', plugin: id, err: error, reason }, 'plugin cannot be loaded')
      if (previous?.register !== undefined) await restore(previous, reason)
    }
  }

  /** A guardrail that was loaded must not disappear because its edited version fails. */
  async function restore({ found, register }: LoadedPlugin, reason: string): Promise<void> {
    try {
      const plugin = await loadPlugin(deps, found, { importer, hasPlugin, register, signal: stopping.signal })
      const warning = `its newest version failed to register, so the previous one is loaded again: ${reason}`
      loaded.set(found.id, { ...plugin, warnings: [warning] })
      failures.delete(found.id)
      slowFailures.delete(found.id)
    } catch (error) {
      log.error(
        { event: 'plugin.restore_failed', plugin: found.id, err: error },
        'the previous version cannot be loaded',
      )
    }
  }

  async function unload(plugin: LoadedPlugin): Promise<void> {
    await unloadPlugin(deps, plugin)
    loaded.delete(plugin.found.id)
  }

  /** Logs a warning again only after it was absent in between. */
  function logWarnings(): void {
    const entries = [
      ...state.catalogue.warnings.map((warning) => ({ fields: { reason: warning }, isLoaded: true })),
      ...listFailures()
        .filter(({ id }) => !failures.has(id))
        .map(({ id, reason }) => ({ fields: { plugin: id, reason }, isLoaded: false })),
      ...list().flatMap(({ id, warnings }) =>
        warnings.map((warning) => ({ fields: { plugin: id, reason: warning }, isLoaded: true })),
      ),
    ].map((entry) => ({ ...entry, key: JSON.stringify(entry) }))
    for (const { fields, isLoaded, key } of entries) {
      if (state.logged.has(key)) continue
      if (isLoaded) log.warn({ event: 'plugin.warning', ...fields }, 'a plugin needs attention')
      else log.warn({ event: 'plugin.not_loaded', ...fields }, 'plugin is not loaded')
    }
    state.logged = new Set(entries.map(({ key }) => key))
  }

  function list(): PluginReport[] {
    return createPluginReports(state.catalogue, {
      failure: (id) => failures.get(id),
      loaded(id) {
        const plugin = loaded.get(id)
        return plugin === undefined ? undefined : createLoadedReport(deps, plugin)
      },
    })
  }

  function listFailures(): PluginFailure[] {
    return pluginFailures(list(), state.catalogue.isEnabled)
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
    sync: (changedFiles) => enqueue(() => sync(changedFiles)),
    list,
    failures: listFailures,
    stop() {
      stopping.abort()
      return enqueue(async () => {
        for (const plugin of [...loaded.values()].reverse()) await unload(plugin)
      })
    },
  }
}

/** In the order of unloading. */
function editedPlugins(
  loaded: ReadonlyMap<string, LoadedPlugin>,
  changedFiles: readonly string[] | undefined,
): LoadedPlugin[] {
  if (changedFiles === undefined) return []
  return [...loaded.values()]
    .reverse()
    .filter(
      ({ found: { directory }, fingerprints }) =>
        changedFiles.some((file) => file.startsWith(`${directory}${sep}`)) || hasChanged(fingerprints),
    )
}

function isKnownSlowFailure(slowFailures: ReadonlyMap<string, string>, { id, entryFile }: DiscoveredPlugin): boolean {
  return slowFailures.has(id) && slowFailures.get(id) === fingerprintOf(entryFile)
}

function createLoadedReport({ services }: PluginLoaderDeps, plugin: LoadedPlugin): LoadedPluginReport {
  const { found, registrations, warnings, loadMs, process } = plugin
  return {
    registered: registrations.list(),
    hooks: services.hooks.report(found.id),
    warnings: [...warnings, ...(process?.warnings() ?? [])],
    loadMs,
    failureReason: process?.failureReason() ?? '',
  }
}
