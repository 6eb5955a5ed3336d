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

/** An installed plugin, by what a configuration may call it. */
export interface NamedPlugin {
  readonly id: string
  /** The name in its manifest, as Hermes uses it; absent where the manifest cannot be read. */
  readonly name?: string
}

/** What a plugin is called: by its id, its folder and its manifest. */
export function namesOf({ id, name = id }: NamedPlugin): readonly string[] {
  return [...new Set([id, bareName(id), name])]
}

export function isCalled(name: string, plugin: NamedPlugin): boolean {
  return namesOf(plugin).includes(name)
}

/** The ids that a name refers to: that of this id, or all whose folder or manifest has this name. */
export function resolveName(name: string, installed: readonly NamedPlugin[]): readonly string[] {
  const ids = installed.map(({ id }) => id)
  if (ids.includes(name)) return [name]
  return [...new Set(installed.filter((plugin) => isCalled(name, plugin)).map(({ id }) => id))]
}

export function bareName(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}

/**
 * `off`: the configuration does not mention the plugin, or by a name that others have, too. `disabled`: `plugins.disabled` names it; of
 * several with this name, all are.
 */
export function desiredStateOf(
  { plugins, memory }: PluginSelection,
  id: string,
  installed: readonly NamedPlugin[],
): DesiredState {
  if (plugins.disabled.some((name) => resolveName(name, installed).includes(id))) return 'disabled'
  const isMemoryProvider = memory.provider !== undefined && id === memoryPluginOf(memory.provider, installed)
  const isEnabled = plugins.enabled.some((name) => {
    const [only, ...others] = resolveName(name, installed)
    return only === id && others.length === 0
  })
  return isMemoryProvider || isEnabled ? 'enabled' : 'off'
}

/** A provider of a user may lie beside other plugins, as in Hermes: `plugins/<name>`. */
function memoryPluginOf(provider: string, installed: readonly NamedPlugin[]): string {
  const wanted = `${memoryCategory}${provider}`
  return installed.some(({ id }) => id === wanted) ? wanted : provider
}

export type DesiredState = 'enabled' | 'off' | 'disabled'

export interface MissingPlugin {
  readonly id: string
  readonly reason: string
}

/** Plugins that the configuration enables and that are not installed, and names that fit several. */
export function missingPlugins(selection: PluginSelection, installed: readonly NamedPlugin[]): MissingPlugin[] {
  const { enabled, disabled } = selection.plugins
  return [...new Set(enabled)]
    .filter((name) => !disabled.includes(name))
    .flatMap((name) => {
      const ids = resolveName(name, installed)
      if (ids.length === 1) return []
      const reason = ids.length === 0 ? notInstalled(name, installed) : ambiguous(ids)
      return [{ id: name, reason: `plugins.enabled names ${reason}` }]
    })
}

/** Names in `plugins.disabled` that fit several plugins: all of them are disabled. */
export function ambiguousDisabled(
  { plugins }: Pick<PluginSelection, 'plugins'>,
  installed: readonly NamedPlugin[],
): string[] {
  return [...new Set(plugins.disabled)]
    .map((name) => ({ name, found: resolveName(name, installed) }))
    .filter(({ found: ids }) => ids.length > 1)
    .map(({ name, found: ids }) => `plugins.disabled: ${name} disables ${ambiguous(ids)}`)
}

function notInstalled(name: string, installed: readonly NamedPlugin[]): string {
  const suggestion = findClosestMatch(name, new Set(installed.flatMap(namesOf)))
  return `a plugin that is not installed${suggestion === null ? '' : `; did you mean ${suggestion}?`}`
}

function ambiguous(ids: readonly string[]): string {
  return `several plugins: ${ids.join(' and ')} have this name. Use the folder of the one that you mean`
}
