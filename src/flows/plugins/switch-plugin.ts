/**
 * Enables and disables a plugin in config.yaml, and keeps its comments.
 */
import { editConfigLists, type ListEdit } from '../../config/edit-config.ts'
import { HermesError } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { namesOf, resolveName } from '../../plugins/desired-state.ts'

export interface SwitchedPlugin {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly reason: string
}

/**
 * @param plugins all that are known
 * @throws HermesError cli/failed for a plugin that is invalid, config/…
 */
export function switchPlugin(
  home: Pick<HomeLayout, 'root' | 'configFile'>,
  plugins: readonly SwitchedPlugin[],
  plugin: SwitchedPlugin,
  action: 'enable' | 'disable',
): void {
  const { id, state, reason } = plugin
  if (action === 'enable' && state === 'invalid') {
    throw new HermesError('cli/failed', `${id} is invalid: ${reason}`, {
      hint: 'Fix it and try again.',
    })
  }
  editConfigLists(home, editsFor(plugins, plugin, action))
}

/** Removes entries with other names of the plugin too, unless several plugins have them. */
function editsFor(
  plugins: readonly SwitchedPlugin[],
  plugin: SwitchedPlugin,
  action: 'enable' | 'disable',
): readonly ListEdit[] {
  const { id } = plugin
  const installed = plugins.filter(({ state }) => state !== 'missing')
  const names = namesOf(plugin).filter((name) => resolveName(name, installed).join() === id)
  const enabled = ['plugins', 'enabled'] as const
  const disabled = ['plugins', 'disabled'] as const
  return action === 'enable'
    ? [
        { path: enabled, add: id, remove: names.filter((other) => other !== id) },
        { path: disabled, remove: names },
      ]
    : [
        { path: enabled, remove: names },
        { path: disabled, add: id, remove: names.filter((other) => other !== id) },
      ]
}
