/**
 * Which plugins are wanted (contract §2.2): those that `plugins.enabled` names, unless `plugins.disabled` names them, too.
 */
import { nearest } from '../lib/nearest.ts'
import type { PluginsConfig } from './config.ts'

/** Seed 004: providers of memory lie in a category of their own, and `memory.provider` is what enables one. */
const memoryCategory = 'memory/'

type Wishes = Pick<PluginsConfig, 'plugins' | 'memory'>

/** Whether any plugin may be wanted; without this no folder is looked into. */
export function wantsAny({ plugins, memory }: Wishes): boolean {
  return plugins.enabled.length > 0 || (memory.provider ?? '') !== ''
}

/** By id, or by the bare name of the folder. */
function names(list: readonly string[], id: string): boolean {
  return list.some((name) => name === id || name === bareName(id))
}

export function bareName(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}

/** `off`: nobody has asked for it. `disabled`: somebody has asked for it not to be loaded. */
export function wishFor({ plugins, memory }: Wishes, id: string): 'enabled' | 'off' | 'disabled' {
  if (names(plugins.disabled, id)) return 'disabled'
  const remembers = memory.provider !== undefined && id === `${memoryCategory}${memory.provider}`
  return remembers || names(plugins.enabled, id) ? 'enabled' : 'off'
}

export interface MissingPlugin {
  readonly id: string
  readonly reason: string
}

/** What the configuration asks for and no folder holds. */
export function missingPlugins(wishes: Wishes, ids: readonly string[]): MissingPlugin[] {
  const { enabled, disabled } = wishes.plugins
  return [...new Set(enabled)]
    .filter((name) => !ids.some((id) => names([name], id)) && !disabled.includes(name))
    .map((id) => {
      const meant = nearest(id, [...ids, ...ids.map(bareName)])
      return {
        id,
        reason: `plugins.enabled names it, and there is no such plugin${meant === null ? '' : `; is ${meant} meant?`}`,
      }
    })
}
