/**
 * The plugins of this home: from the running daemon, or from the directories when none is running.
 */
import { z } from 'zod'
import { pluginDirectories } from '../../app/compose-plugins.ts'
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { HermesError } from '../../lib/errors.ts'
import { cataloguePlugins } from '../../plugins/catalogue.ts'
import { isCalled, namesOf } from '../../plugins/desired-state.ts'
import { createPluginReports, emptyRuntimeState, type PluginReport } from '../../plugins/plugin-report.ts'
import type { CliContext } from '../kit/context.ts'
import { type Daemon, findRunningDaemon, warnVersionMismatch } from '../kit/daemon.ts'
import { readSettings, type Settings } from '../kit/settings.ts'

/** A plugin in the response of `GET /api/plugins`. Loose, because the daemon may be older or newer. */
const pluginSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  version: z.string(),
  description: z.string(),
  author: z.string(),
  kind: z.string(),
  language: z.string(),
  origin: z.string(),
  folder: z.string(),
  state: z.string(),
  reason: z.string(),
  problem: z.string().default(''),
  warnings: z.array(z.string()),
  requires: z.array(z.string()),
  registered: z.array(z.looseObject({ kind: z.string(), name: z.string() })),
  hooks: z
    .array(
      z.looseObject({
        point: z.string(),
        calls: z.number(),
        failures: z.number(),
        skipped: z.number(),
        dropped: z.number(),
        lastError: z.looseObject({ text: z.string() }).nullable(),
      }),
    )
    .default([]),
  loadMs: z.number().nullable(),
})
export type KnownPlugin = z.output<typeof pluginSchema>

const responseSchema = z.looseObject({ plugins: z.array(pluginSchema) })

export interface KnownPlugins {
  /** `undefined` when no daemon is running. */
  readonly daemon: Daemon | undefined
  readonly settings: Settings
  readonly plugins: readonly KnownPlugin[]
}

/** Throws what `findRunningDaemon` throws, and `home/unusable`. */
export async function loadKnownPlugins(context: CliContext): Promise<KnownPlugins> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token, fetch })
  if (daemon !== undefined) warnVersionMismatch(context, daemon)
  const plugins =
    daemon === undefined
      ? await scanPluginDirectories(context, settings)
      : parsePlugins(await daemon.request('/api/plugins'))
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
  return z.array(pluginSchema).parse(createPluginReports(catalogue, emptyRuntimeState))
}

/** Parses the response of a daemon. Throws `cli/incompatible-response`. */
export function parsePlugins(body: unknown): readonly KnownPlugin[] {
  const response = responseSchema.safeParse(body)
  if (response.success) return response.data.plugins
  throw new HermesError('cli/incompatible-response', '', { cause: response.error })
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
