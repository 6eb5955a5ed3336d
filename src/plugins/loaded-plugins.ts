/**
 * The plugins that are loaded, and the failures of those that are not. A plugin that cannot be loaded leaves no registrations
 * behind and does not affect other plugins.
 */
import { fingerprintOf, fingerprintsOf } from '../lib/file-memo.ts'
import { toNamedPlugin } from './catalogue.ts'
import { isCalled } from './desired-state.ts'
import type { DiscoveredPlugin } from './discovery.ts'
import { createEntryImporter } from './entry-importer.ts'
import { failureReasonOf, type LoadedPlugin, loadPlugin, type PluginLoaderDeps, unloadPlugin } from './load-plugin.ts'

export interface LoadedPlugins {
  /** In the order of loading. */
  list(): readonly LoadedPlugin[]
  get(id: string): LoadedPlugin | undefined
  /** Why a plugin could not be loaded. */
  failure(id: string): string | undefined
  /** Drops the failures of plugins that are not enabled any more, and those that may be tried again. */
  forgetFailures(isEnabled: (id: string) => boolean): void
  /** False for a loaded plugin, and for one that took long to fail and was not edited since. */
  mayLoad(plugin: DiscoveredPlugin): boolean
  /** Never rejects. */
  load(plugin: DiscoveredPlugin, turn?: Promise<void>): Promise<void>
  /** Replaces the previous version. It stays loaded when the new one cannot be loaded. Never rejects. */
  reload(plugin: DiscoveredPlugin, previous: LoadedPlugin): Promise<void>
  unload(plugin: LoadedPlugin): Promise<void>
}

/** A plugin that takes longer than this to fail is retried only after an edit, because other plugins wait for it. */
const slowFailureMs = 5_000

export function createLoadedPlugins(deps: PluginLoaderDeps, stopping: AbortSignal): LoadedPlugins {
  const { clock, log } = deps
  const importer = createEntryImporter()
  const loaded = new Map<string, LoadedPlugin>()
  const failures = new Map<string, string>()
  /** Fingerprints of the entries of plugins that took long to fail. */
  const slowFailures = new Map<string, string>()

  const hasPlugin = (id: string) =>
    [...loaded.values()].some(({ found: plugin }) => isCalled(id, toNamedPlugin(plugin)))

  async function unload(plugin: LoadedPlugin): Promise<void> {
    await unloadPlugin(deps, plugin)
    loaded.delete(plugin.found.id)
  }

  /** Keeps the order of loading. */
  function setLoaded(plugin: LoadedPlugin): void {
    loaded.delete(plugin.found.id)
    loaded.set(plugin.found.id, plugin)
  }

  async function load(
    plugin: DiscoveredPlugin,
    previous: LoadedPlugin | undefined,
    turn?: Promise<void>,
  ): Promise<void> {
    const { id, entryFile } = plugin
    let startedAt = clock()
    // The time of other plugins does not count.
    void turn?.then(() => {
      startedAt = clock()
    })
    const fingerprint = fingerprintOf(entryFile)
    failures.delete(id)
    slowFailures.delete(id)
    try {
      setLoaded(await loadPlugin(deps, plugin, { importer, hasPlugin, previous, turn, signal: stopping }))
    } catch (error) {
      if (stopping.aborted) {
        log.info(
          { event: 'plugin.load_interrupted', plugin: id },
          'the load of a plugin ended, because the gateway stops',
        )
        return
      }
      const reason = await failureReasonOf(error, plugin)
      log.error({ event: 'plugin.load_failed', plugin: id, err: error, reason }, 'plugin cannot be loaded')
      if (previous !== undefined) return restore(previous, reason)
      failures.set(id, reason)
      if (clock() - startedAt >= slowFailureMs) slowFailures.set(id, fingerprint)
    }
  }

  function keepPrevious(previous: LoadedPlugin, problem: string): void {
    const fingerprints = fingerprintsOf(previous.fingerprints.keys())
    loaded.set(previous.found.id, { ...previous, fingerprints, problem })
  }

  /**
   * A guardrail that was loaded must not disappear because its edited version fails. The `onUnload` callbacks of the
   * previous version were called, so it is registered again. If that is not possible, its registrations stay in force.
   */
  async function restore(previous: LoadedPlugin, reason: string): Promise<void> {
    const { found: discovered, register } = previous
    keepPrevious(previous, `its newest version failed to register, so the previous one stays loaded: ${reason}`)
    if (register === undefined) return
    try {
      const plugin = await loadPlugin(deps, discovered, { importer, hasPlugin, register, previous, signal: stopping })
      const problem = `its newest version failed to register, so the previous one is loaded again: ${reason}`
      setLoaded({ ...plugin, problem })
    } catch (error) {
      log.error(
        { event: 'plugin.restore_failed', plugin: discovered.id, err: error },
        'the previous version cannot be loaded',
      )
    }
  }

  /** A version that cannot be imported does not replace a working one. */
  async function isImportable(plugin: DiscoveredPlugin, previous: LoadedPlugin): Promise<boolean> {
    if (plugin.language === 'python') return true
    importer.invalidate(plugin)
    try {
      await importer.importEntry(plugin)
      return true
    } catch (error) {
      const reason = await failureReasonOf(error, plugin)
      log.error(
        { event: 'plugin.reload_failed', plugin: plugin.id, err: error, reason },
        'the edited plugin cannot be imported',
      )
      keepPrevious(previous, `its newest version cannot be imported, so the previous one stays loaded: ${reason}`)
      return false
    }
  }

  return {
    list: () => [...loaded.values()],
    get: (id) => loaded.get(id),
    failure: (id) => failures.get(id),
    forgetFailures(isEnabled) {
      for (const id of slowFailures.keys()) if (!isEnabled(id)) slowFailures.delete(id)
      for (const id of failures.keys()) if (!slowFailures.has(id)) failures.delete(id)
    },
    mayLoad({ id, entryFile }) {
      return !loaded.has(id) && !(slowFailures.has(id) && slowFailures.get(id) === fingerprintOf(entryFile))
    },
    load: (plugin, turn) => load(plugin, undefined, turn),
    async reload(plugin, previous) {
      if (await isImportable(plugin, previous)) await load(plugin, previous)
    },
    unload,
  }
}
