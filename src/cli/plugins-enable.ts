/**
 * `hermes plugins enable` and `hermes plugins disable`: edit the lists in config.yaml and keep its comments. A running
 * gateway applies the change at once.
 */
import { callRoute } from '../api/client.ts'
import { reloadPlugins as reloadRoute } from '../api/routes/extensions.ts'
import { switchPlugin } from '../flows/plugins/switch-plugin.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext } from './kit/context.ts'
import {
  findPlugin,
  formatRegistrations,
  type KnownPlugin,
  type KnownPlugins,
  loadKnownPlugins,
} from './shared/known-plugins.ts'

type Action = 'enable' | 'disable'

/** Each plugin has 30 seconds to load, and one change may load several. */
const reloadTimeoutMs = 120_000

/** Exit code 1 when the plugin cannot be loaded. Throws `cli/not-found`, `config/…`. */
export async function pluginsEnable(context: CliContext, name: string): Promise<void> {
  await setEnabled(context, name, 'enable')
}

export async function pluginsDisable(context: CliContext, name: string): Promise<void> {
  await setEnabled(context, name, 'disable')
}

async function setEnabled(context: CliContext, name: string, action: Action): Promise<void> {
  const known = await loadKnownPlugins(context)
  const plugin = findPlugin(name, known.plugins)
  switchPlugin(context.home, known.plugins, plugin, action)
  const after = findPlugin(plugin.id, await reloadPlugins(context, known))
  printResult(context, action, after, known.daemon !== undefined)
}

/** Applies the change in the daemon and returns the new state of all plugins. */
async function reloadPlugins(context: CliContext, { daemon }: KnownPlugins): Promise<readonly KnownPlugin[]> {
  if (daemon !== undefined)
    return (await callRoute(daemon, reloadRoute, { signal: AbortSignal.timeout(reloadTimeoutMs) })).plugins
  return (await loadKnownPlugins(context)).plugins
}

function printResult(context: CliContext, action: Action, plugin: KnownPlugin, running: boolean): void {
  const { id, state, reason, warnings } = plugin
  const { output, errors } = context
  if (action === 'disable') {
    output.write(`${id} is disabled${running ? ' and unloaded' : ''}.\n`)
    return
  }
  if (state === 'disabled') {
    context.exitCode = exitCodes.failed
    errors.write(
      `hermes: plugins.disabled still names ${id}, by a name that other plugins have, too. Remove that name.\n`,
    )
    return
  }
  if (state === 'failed' || state === 'invalid') {
    context.exitCode = exitCodes.failed
    errors.write(`hermes: ${id} is enabled, but cannot be loaded: ${toSingleLine(reason)}\n`)
    return
  }
  const registrations = formatRegistrations(plugin)
  output.write(
    running
      ? `${id} is enabled and loaded${registrations === '' ? '' : `: ${toSingleLine(registrations)}`}.\n`
      : `${id} is enabled.\n`,
  )
  for (const warning of warnings) errors.write(`hermes: ${toSingleLine(warning)}\n`)
}
