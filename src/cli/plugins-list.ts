/**
 * `hermes plugins list` and `hermes plugins info`.
 */
import type { CliContext, JsonOption } from './kit/context.ts'
import { type Cell, createDisplay } from './kit/display.ts'
import { showList } from './kit/list.ts'
import {
  findPlugin,
  formatHookWarnings,
  formatRegistrations,
  type KnownPlugin,
  loadKnownPlugins,
} from './shared/known-plugins.ts'

export async function pluginsList(context: CliContext, { json }: JsonOption): Promise<void> {
  const { daemon, plugins } = await loadKnownPlugins(context)
  const isOneOff = plugins.some(({ state }) => state === 'off')
  showList(context, {
    json,
    rows: plugins,
    empty: `There are no plugins. \`hermes plugins new <name>\` creates one in ${context.home.plugins}.`,
    headings: ['PLUGIN', 'STATE', 'VERSION', 'FROM', 'ABOUT'],
    cells: (plugin) => [plugin.id, stateCell(plugin), plugin.version, plugin.origin, summaryOf(plugin)],
    notes: [
      ...(isOneOff ? ['A plugin has all permissions of the gateway. `hermes plugins enable <id>` enables one.'] : []),
      ...(daemon === undefined ? ['No gateway is running, so no plugin is loaded.'] : []),
    ],
  })
}

export async function pluginsInfo(context: CliContext, name: string, { json }: JsonOption): Promise<void> {
  const { plugins } = await loadKnownPlugins(context)
  const plugin = findPlugin(name, plugins)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(plugin)
  display.fields(pluginFields(plugin).filter(([, value]) => value !== ''))
}

function pluginFields(plugin: KnownPlugin): (readonly [string, Cell])[] {
  const { requires, warnings, loadMs } = plugin
  return [
    ['Plugin', plugin.id],
    ['Name', plugin.name === plugin.id ? '' : plugin.name],
    ['About', plugin.description],
    ['State', stateCell(plugin)],
    ['Reason', plugin.reason],
    ...[...warnings, ...formatHookWarnings(plugin)].map((text): readonly [string, Cell] => [
      'Warning',
      { text, tone: 'warn' },
    ]),
    ['Version', plugin.version],
    ['Author', plugin.author],
    ['Kind', plugin.kind],
    ['Language', plugin.language],
    ['Folder', plugin.folder],
    ['From', plugin.origin],
    ['Requires', requires.join(', ')],
    ['Registered', formatRegistrations(plugin)],
    ['Loaded in', loadMs === null ? '' : `${Math.round(loadMs)} ms`],
  ]
}

const tones = { loaded: 'good', enabled: 'good', off: 'dim', disabled: 'dim' } as const

function stateCell({ state, problem, warnings }: KnownPlugin): Cell {
  if (problem !== '') return { text: `${state} (old version)`, tone: 'warn' }
  const tone = Object.entries(tones).find(([name]) => name === state)?.[1] ?? 'bad'
  return { text: state, tone: tone === 'good' && warnings.length > 0 ? 'warn' : tone }
}

function summaryOf({ reason, description, warnings: [warning = ''] }: KnownPlugin): string {
  return reason || warning || description
}
