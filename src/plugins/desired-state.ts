/**
 * Which plugins are wanted (contract §2.2): those that `plugins.enabled` names, unless `plugins.disabled` names them, too.
 */
import { findClosestMatch } from '../lib/did-you-mean.ts'
import type { PluginsConfig } from './config.ts'

/** Seed 004: providers of memory lie in a category of their own, and `memory.provider` is what enables one. */
const memoryCategory = 'memory/'

type PluginSelection = Pick<PluginsConfig, 'plugins' | 'memory'>

/** Whether any plugin may be wanted; without this no folder is looked into. */
export function hasEnabledPlugins({ plugins, memory }: PluginSelection): boolean {
  return plugins.enabled.length > 0 || (memory.provider ?? '') !== ''
}

/** By id, or by the bare name of the folder: who names an id means that plugin alone. */
function includesPlugin(list: readonly string[], id: string, ids: readonly string[]): boolean {
  return list.some((name) => name === id || (name === bareName(id) && !ids.includes(name)))
}

export function bareName(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}

/**
 * `off`: nobody has asked for it. `disabled`: somebody has asked for it not to be loaded.
 * @param ids of all plugins there are
 */
export function desiredStateOf({ plugins, memory }: PluginSelection, id: string, ids: readonly string[]): DesiredState {
  if (includesPlugin(plugins.disabled, id, ids)) return 'disabled'
  const isMemoryProvider = memory.provider !== undefined && id === `${memoryCategory}${memory.provider}`
  return isMemoryProvider || includesPlugin(plugins.enabled, id, ids) ? 'enabled' : 'off'
}

export type DesiredState = 'enabled' | 'off' | 'disabled'

export interface MissingPlugin {
  readonly id: string
  readonly reason: string
}

/** What the configuration asks for and no folder holds. */
export function missingPlugins(selection: PluginSelection, ids: readonly string[]): MissingPlugin[] {
  const { enabled, disabled } = selection.plugins
  return [...new Set(enabled)]
    .filter((name) => !ids.some((id) => includesPlugin([name], id, ids)) && !disabled.includes(name))
    .map((id) => {
      const suggestion = findClosestMatch(id, [...ids, ...ids.map(bareName)])
      return {
        id,
        reason: `plugins.enabled names it, and there is no such plugin${suggestion === null ? '' : `; is ${suggestion} meant?`}`,
      }
    })
}
