/**
 * The plugins of this home: from the running daemon, or from the directories when none is running.
 */
import type { z } from 'zod'
import { callRoute } from '../../api/client.ts'
import { listPlugins } from '../../api/routes/extensions.ts'
import { pluginShape } from '../../api/shapes/extensions.ts'
import { pluginDirectories } from '../../app/plugin-directories.ts'
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { HermesError } from '../../lib/errors.ts'
import { cataloguePlugins } from '../../plugins/catalogue.ts'
import { isCalled, namesOf } from '../../plugins/desired-state.ts'
import { createPluginReports, emptyRuntimeState, type PluginReport } from '../../plugins/plugin-report.ts'
import type { CliContext } from '../kit/context.ts'
import { type Daemon, findRunningDaemon, warnVersionMismatch } from '../kit/daemon.ts'
import { readSettings, type Settings } from '../kit/settings.ts'

export type KnownPlugin = z.output<typeof pluginShape>

export interface KnownPlugins {
  /** `undefined` when no daemon is running. */
  readonly daemon: Daemon | undefined
  readonly settings: Settings
  readonly plugins: readonly KnownPlugin[]
}

/** Throws what `findRunningDaemon` throws, and `home/unusable`. */
export async function loadKnownPlugins(context: CliContext): Promise<KnownPlugins> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  if (daemon !== undefined) warnVersionMismatch(context, daemon)
  const plugins =
    daemon === undefined
      ? await scanPluginDirectories(context, settings)
      : (await callRoute(daemon, listPlugins, {})).plugins
  return { daemon, settings, plugins: await withMissingPackages(plugins, settings) }
}

/** Adds a warning to each plugin in use whose packages this machine does not have. */
export async function withMissingPackages<
  Plugin extends Pick<PluginReport, 'language' | 'folder' | 'warnings'> & { readonly state: string },
>(plugins: readonly Plugin[], { config }: Pick<Settings, 'config'>): Promise<readonly Plugin[]> {
  const isUsed = ({ language, state }: Plugin) =>
    language === 'python' && ['enabled', 'loaded', 'failed'].includes(state)
  const folders = plugins.filter(isUsed).map(({ folder }) => folder)
  if (folders.length === 0) return plugins
  const [{ findMissingPackages }, { baseEnvironment }] = await Promise.all([
    import('../../plugins/python/missing-packages.ts'),
    import('../../hooks/host-groups.ts'),
  ])
  const env = baseEnvironment(config.environment().values, [])
  const missing = await findMissingPackages({ python: config.current().hooks.python, env, folders })
  return plugins.map((plugin) => {
    const sentence = missing.get(plugin.folder)
    return sentence === undefined ? plugin : { ...plugin, warnings: [...plugin.warnings, sentence] }
  })
}

async function scanPluginDirectories({ home }: CliContext, { config }: Settings): Promise<readonly KnownPlugin[]> {
  const catalogue = await cataloguePlugins(pluginDirectories(home), config.current(), config.environment().values)
  return createPluginReports(catalogue, emptyRuntimeState).map((report) => pluginShape.parse(report))
}

/** The plugin with this id, or whose folder or manifest has this name if it is unique. Throws `cli/not-found`. */
export function findPlugin<Plugin extends Pick<KnownPlugin, 'id' | 'name' | 'state'>>(
  name: string,
  all: readonly Plugin[],
): Plugin {
  const plugins = all.filter(({ state }) => state !== 'missing')
  const exact = plugins.find(({ id }) => id === name)
  if (exact !== undefined) return exact
  const [match, second] = plugins.filter((plugin) => isCalled(name, plugin))
  if (match !== undefined && second === undefined) return match
  if (match !== undefined && second !== undefined) {
    throw new HermesError('cli/not-found', `Both ${match.id} and ${second.id} are called ${name}.`, {
      hint: 'Use the folder of the one that you mean, with its category.',
    })
  }
  const closest = findClosestMatch(name, new Set(plugins.flatMap(namesOf)))
  const advice = closest === null ? '.' : `; did you mean ${closest}?`
  throw new HermesError('cli/not-found', `No plugin is called ${JSON.stringify(name)}${advice}`, {
    hint: '`hermes plugins list` shows all plugins.',
  })
}

/** One sentence per kind of failure of its hooks. */
export function formatHookWarnings({ hooks }: Pick<KnownPlugin, 'hooks'>): string[] {
  return hooks.flatMap(({ point, calls, failures, skipped, dropped, lastError }) => [
    ...(failures === 0 ? [] : [`${point} failed ${failures} of ${calls} times; last error: ${lastError?.text ?? ''}`]),
    ...(skipped === 0 ? [] : [`${point} was skipped ${skipped} times after timeouts`]),
    ...(dropped === 0 ? [] : [`${point} was too slow: ${dropped} events were dropped`]),
  ])
}

/** `hook pre_tool_call, hook post_tool_call, tool ask`. */
export function formatRegistrations({ registered }: Pick<KnownPlugin, 'registered'>): string {
  return registered.map(({ kind, name }) => `${kind} ${name}`).join(', ')
}
