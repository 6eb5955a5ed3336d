/**
 * The plugins of this home as commands see them: from the running daemon, or without one from the folders.
 */
import { z } from 'zod'
import { pluginDirectories } from '../app/compose-plugins.ts'
import { findClosestMatch } from '../lib/did-you-mean.ts'
import { HermesError } from '../lib/errors.ts'
import { cataloguePlugins } from '../plugins/catalogue.ts'
import { bareName } from '../plugins/desired-state.ts'
import { createPluginReports, emptyRuntimeState } from '../plugins/plugin-report.ts'
import type { CliContext } from './context.ts'
import { type Daemon, findRunningDaemon, warnVersionMismatch } from './daemon.ts'
import { readSettings, type Settings } from './settings.ts'

/** As `GET /api/plugins` gives them: the daemon may be older or newer. */
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
  /** Undefined when none runs. */
  readonly daemon: Daemon | undefined
  readonly settings: Settings
  readonly plugins: readonly KnownPlugin[]
}

/** Throws what `findRunningDaemon` throws, and `home/unusable`. */
export async function loadKnownPlugins(context: CliContext): Promise<KnownPlugins> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token, fetch })
  if (daemon === undefined) return { daemon, settings, plugins: await scanPluginDirectories(context, settings) }
  warnVersionMismatch(context, daemon)
  return { daemon, settings, plugins: parsePlugins(await daemon.request('/api/plugins')) }
}

async function scanPluginDirectories({ home }: CliContext, { config }: Settings): Promise<readonly KnownPlugin[]> {
  const catalogue = await cataloguePlugins({
    roots: pluginDirectories(home),
    settings: config.current(),
    environment: config.environment().values,
  })
  return z.array(pluginSchema).parse(createPluginReports(catalogue, emptyRuntimeState))
}

/** Reads the answer of a daemon. Throws `cli/failed` when it is none. */
export function parsePlugins(said: unknown): readonly KnownPlugin[] {
  const answer = responseSchema.safeParse(said)
  if (answer.success) return answer.data.plugins
  throw new HermesError('cli/failed', 'The gateway answers in a form that this version does not know.', {
    hint: 'It may be another version: restart it, then try again.',
    cause: answer.error,
  })
}

/** The plugin of this id, or of this bare name where only one has it. Throws `cli/not-found`. */
export function findPlugin<Plugin extends Pick<KnownPlugin, 'id' | 'state'>>(
  name: string,
  all: readonly Plugin[],
): Plugin {
  const plugins = all.filter(({ state }) => state !== 'missing')
  const exact = plugins.find(({ id }) => id === name)
  if (exact !== undefined) return exact
  const [found, second] = plugins.filter(({ id }) => bareName(id) === name)
  if (found !== undefined && second === undefined) return found
  if (found !== undefined && second !== undefined) {
    throw new HermesError('cli/not-found', `Both ${found.id} and ${second.id} are called ${name}.`, {
      hint: 'Name the one you mean with its category.',
    })
  }
  const ids = plugins.map(({ id }) => id)
  const meant = findClosestMatch(name, [...ids, ...ids.map(bareName)])
  const advice = meant === null ? '' : `; did you mean ${meant}?`
  throw new HermesError('cli/not-found', `No plugin is called ${JSON.stringify(name)}${advice}`, {
    hint: '`hermes plugins list` shows what there is.',
  })
}

/** What went wrong with its hooks, a sentence each. */
export function formatHookWarnings({ hooks }: Pick<KnownPlugin, 'hooks'>): string[] {
  return hooks.flatMap(({ point, calls, failures, skipped, dropped, lastError }) => [
    ...(failures === 0
      ? []
      : [`${point} failed ${failures} of ${calls} times, the last time: ${lastError?.text ?? ''}`]),
    ...(skipped === 0 ? [] : [`${point} was left out ${skipped} times after it had taken too long`]),
    ...(dropped === 0 ? [] : [`${point} was too slow: ${dropped} things were not told to it`]),
  ])
}

/** `hook pre_tool_call, hook post_tool_call, tool ask`. */
export function formatRegistrations({ registered }: Pick<KnownPlugin, 'registered'>): string {
  return registered.map(({ kind, name }) => `${kind} ${name}`).join(', ')
}
