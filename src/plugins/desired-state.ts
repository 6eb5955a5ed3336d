/**
 * Determines which plugins are enabled (contract §2.2): those in `plugins.enabled` that are not in `plugins.disabled`.
 */
import { findClosestMatch } from '../lib/did-you-mean.ts'
import type { PluginsConfig } from './config.ts'

/** Seed 004: memory providers have a category of their own, and `memory.provider` enables one of them. */
const memoryCategory = 'memory/'

type PluginSelection = Pick<PluginsConfig, 'plugins' | 'memory'>

/** Whether a plugin may be enabled. Otherwise no plugin directory is read. */
export function hasEnabledPlugins({ plugins, memory }: PluginSelection): boolean {
  return plugins.enabled.length > 0 || (memory.provider ?? '') !== ''
}

/** By id, or by the name of the folder. A name that is an id refers to that plugin only. */
function includesPlugin(list: readonly string[], id: string, ids: readonly string[]): boolean {
  return list.some((name) => name === id || (name === bareName(id) && !ids.includes(name)))
}

export function bareName(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}

/**
 * `off`: the configuration does not mention the plugin. `disabled`: `plugins.disabled` names it.
 * @param ids of all installed plugins
 */
export function desiredStateOf({ plugins, memory }: PluginSelection, id: string, ids: readonly string[]): DesiredState {
  if (includesPlugin(plugins.disabled, id, ids)) return 'disabled'
  const isMemoryProvider = memory.provider !== undefined && id === memoryPluginOf(memory.provider, ids)
  return isMemoryProvider || includesPlugin(plugins.enabled, id, ids) ? 'enabled' : 'off'
}

/** A provider of a user may lie beside other plugins, as in Hermes: `plugins/<name>`. */
function memoryPluginOf(provider: string, ids: readonly string[]): string {
  const id = `${memoryCategory}${provider}`
  return ids.includes(id) ? id : provider
}

export type DesiredState = 'enabled' | 'off' | 'disabled'

export interface MissingPlugin {
  readonly id: string
  readonly reason: string
}

/** Plugins that the configuration enables and that are not installed. */
export function missingPlugins(selection: PluginSelection, ids: readonly string[]): MissingPlugin[] {
  const { enabled, disabled } = selection.plugins
  return [...new Set(enabled)]
    .filter((name) => !ids.some((id) => includesPlugin([name], id, ids)) && !disabled.includes(name))
    .map((id) => {
      const suggestion = findClosestMatch(id, [...ids, ...ids.map(bareName)])
      return {
        id,
        reason: `plugins.enabled names a plugin that is not installed${suggestion === null ? '' : `; did you mean ${suggestion}?`}`,
      }
    })
}
