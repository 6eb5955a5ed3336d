/**
 * The plugins that are loaded, and the failures of those that are not. A plugin that cannot be loaded leaves no registrations
 * behind and does not affect other plugins.
 */
import { fingerprintOf, fingerprintsOf } from '../lib/file-fingerprint.ts'
import { matchesPluginId } from './catalogue.ts'
import type { DiscoveredPlugin } from './discovery.ts'
import { createEntryImporter } from './entry-importer.ts'
import { failureReasonOf, type LoadedPlugin, type LoadPluginDeps, loadPlugin, unloadPlugin } from './load-plugin.ts'

export interface LoadedPlugins {
  /** In the order of loading. */
  list(): readonly LoadedPlugin[]
  get(id: string): LoadedPlugin | undefined
  /** Why a plugin could not be loaded. */
  failure(id: string): string | undefined
  /** Drops the failures of plugins that are not enabled any more, and those that may be tried again. */
  forgetFailures(isEnabled: (id: string) => boolean): void
  /** False for a loaded plugin, and for one that took long to fail and was not edited since. */
  mayLoad(found: DiscoveredPlugin): boolean
  /** `previous`: the version that is restored when this one cannot be loaded. Never rejects. */
  load(found: DiscoveredPlugin, previous: LoadedPlugin | undefined): Promise<void>
  unload(plugin: LoadedPlugin): Promise<void>
  /** Returns whether it was unloaded: a version that cannot be imported does not replace a working one. */
  unloadForReload(plugin: LoadedPlugin): Promise<boolean>
}

/** A plugin that takes longer than this to fail is retried only after an edit, because other plugins wait for it. */
const slowFailureMs = 5_000

export function createLoadedPlugins(deps: LoadPluginDeps, stopping: AbortSignal): LoadedPlugins {
  const { clock, log } = deps
  const importer = createEntryImporter()
  const loaded = new Map<string, LoadedPlugin>()
  const failures = new Map<string, string>()
  /** Fingerprints of the entries of plugins that took long to fail. */
  const slowFailures = new Map<string, string>()

  const hasPlugin = (id: string) => [...loaded.keys()].some((other) => matchesPluginId(id, other))

  async function unload(plugin: LoadedPlugin): Promise<void> {
    await unloadPlugin(deps, plugin)
    loaded.delete(plugin.found.id)
  }

  /** A guardrail that was loaded must not disappear because its edited version fails. */
  async function restore({ found, register }: LoadedPlugin, reason: string): Promise<void> {
    try {
      const plugin = await loadPlugin(deps, found, { importer, hasPlugin, register, signal: stopping })
      const problem = `its newest version failed to register, so the previous one is loaded again: ${reason}`
      loaded.set(found.id, { ...plugin, problem })
      failures.delete(found.id)
      slowFailures.delete(found.id)
    } catch (error) {
      log.error(
        { event: 'plugin.restore_failed', plugin: found.id, err: error },
        'the previous version cannot be loaded',
      )
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
    async load(found, previous) {
      const { id, entryFile } = found
      const startedAt = clock()
      const fingerprint = fingerprintOf(entryFile)
      failures.delete(id)
      slowFailures.delete(id)
      try {
        loaded.set(id, await loadPlugin(deps, found, { importer, hasPlugin, signal: stopping }))
      } catch (error) {
        const reason = await failureReasonOf(error, found)
        failures.set(id, reason)
        if (clock() - startedAt >= slowFailureMs) slowFailures.set(id, fingerprint)
        log.error({ event: 'plugin.load_failed', plugin: id, err: error, reason }, 'plugin cannot be loaded')
        if (previous?.register !== undefined) await restore(previous, reason)
      }
    },
    unload,
    async unloadForReload(plugin) {
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
          const problem = `its newest version cannot be imported, so the previous one stays loaded: ${reason}`
          const fingerprints = fingerprintsOf(plugin.fingerprints.keys())
          loaded.set(found.id, { ...plugin, fingerprints, problem })
          return false
        }
      }
      await unload(plugin)
      return true
    },
  }
}
