/**
 * `hermes tools`: the toolsets that the model is offered, and which of them the configuration takes away. Edits keep the
 * comments of config.yaml; a running gateway follows the file.
 */
import { isDeepStrictEqual } from 'node:util'
import { isBrowserOptional } from '../agent/browser/find-browser.ts'
import { readKnownServers } from '../agent/mcp/known-tools.ts'
import { builtInTools } from '../agent/tools/built-in-tools.ts'
import {
  type CustomToolsets,
  type SelectableTool,
  selectDisabledTools,
  selectTools,
} from '../agent/toolsets/select-tools.ts'
import { callRoute } from '../api/client.ts'
import { listTools } from '../api/routes/extensions.ts'
import { providedTools } from '../app/provided-tools.ts'
import { editConfigLists, type ListEdit } from '../config/edit-config.ts'
import { knownTools } from '../flows/tools/known-tools.ts'
import { listToolsets, selectedTools, type ToolsetState, toolsetListOf } from '../flows/tools/list-toolsets.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { findUnavailableTools } from './checks/unavailable-tools.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { createDisplay } from './kit/display.ts'
import { readSettings, type Settings } from './kit/settings.ts'
import { assertPlatformExists, assertToolsetsExist } from './shared/known-toolsets.ts'

interface ToolsOptions {
  readonly platform?: string
}

interface KnownToolsets extends ToolsetState {
  readonly settings: Settings
}

/** Tools of plugins are known to a running gateway only. Throws what `findRunningDaemon` throws, and `home/unusable`. */
async function loadToolsets(context: CliContext): Promise<KnownToolsets> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  const unavailable = findUnavailableTools(context, settings)
  if (daemon === undefined) {
    const servers = readKnownServers(context.home.mcpCache, settings.config.current())
    return {
      settings,
      unavailable,
      tools: withOptional(
        knownTools(
          [],
          servers.flatMap(({ tools = [] }) => tools),
        ),
        settings,
      ),
    }
  }
  return { settings, unavailable, tools: withOptional((await callRoute(daemon, listTools, {})).tools, settings) }
}

function withOptional(tools: readonly SelectableTool[], { config }: Settings): readonly SelectableTool[] {
  if (!isBrowserOptional(config.current().browser)) return tools
  return tools.map((tool) => (isBuiltInBrowserTool(tool) ? { ...tool, isOptional: true } : tool))
}

function isBuiltInBrowserTool({ name, toolset }: SelectableTool): boolean {
  return toolset === 'browser' && builtInTools.has(name)
}

/** Throws `cli/not-found` for a platform that does not exist. */
export async function toolsList(context: CliContext, { platform, json }: ToolsOptions & JsonOption): Promise<void> {
  const known = await loadToolsets(context)
  if (platform !== undefined) assertPlatformExists(platform, known.settings)
  const rows = listToolsets(known, platform)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(rows)
  display.table(
    ['TOOLSET', 'STATE', 'TOOLS'],
    rows.map(({ name, state, reason = '', tools }) => [
      toSingleLine(name),
      { text: reason === '' ? state : toSingleLine(`${state}: ${reason}`), tone: state === 'on' ? 'good' : 'dim' },
      toSingleLine(tools.join(', ')),
    ]),
  )
  if (!display.isTerminal) return
  const others = Object.keys(known.settings.config.current().platform_toolsets).filter((name) => name !== platform)
  display.line()
  if (others.length > 0)
    display.line(`Platforms with a list of their own: ${toSingleLine(others.join(', '))} (--platform).`)
  display.line('`hermes tools disable <toolset> [--platform <name>]` takes one away for new conversations.')
}

/** Throws `cli/not-found`, `config/…`. */
export async function toolsEnable(context: CliContext, names: readonly string[], options: ToolsOptions): Promise<void> {
  await setEnabled(context, names, options, 'enable')
}

export async function toolsDisable(
  context: CliContext,
  names: readonly string[],
  options: ToolsOptions,
): Promise<void> {
  await setEnabled(context, names, options, 'disable')
}

async function setEnabled(
  context: CliContext,
  names: readonly string[],
  { platform }: ToolsOptions,
  action: Action,
): Promise<void> {
  const known = await loadToolsets(context)
  const { custom_toolsets: custom } = known.settings.config.current()
  if (platform !== undefined) assertPlatformExists(platform, known.settings)
  assertToolsetsExist(names, [...known.tools, ...providedTools(context.home)], custom)
  const edits =
    platform === undefined ? commonEdits(known, names, action) : platformEdits(known, platform, names, action)
  editConfigLists(context.home, edits)
  const after = { ...known, settings: await readSettings(context) }
  report(context, after, { names, platform, custom })
}

type Action = 'enable' | 'disable'

/** For all platforms: `agent.disabled_toolsets`, which no other list overrules. */
function commonEdits({ settings, tools }: KnownToolsets, names: readonly string[], action: Action): ListEdit[] {
  const disabled = ['agent', 'disabled_toolsets'] as const
  if (action === 'disable') return names.map((name): ListEdit => ({ path: disabled, add: name }))
  const { custom_toolsets: custom, toolsets: common } = settings.config.current()
  const after = names.reduce<readonly string[]>((list, name) => withToolset(list, name, { tools, custom }), common)
  return [{ path: disabled, remove: names }, ...listEdits(['toolsets'], common, after)]
}

/** For one platform: its list, which begins with what the platform has now. */
function platformEdits(
  { settings, tools }: KnownToolsets,
  platform: string,
  names: readonly string[],
  action: Action,
): ListEdit[] {
  const { custom_toolsets: custom, platform_toolsets } = settings.config.current()
  const change = action === 'enable' ? withToolset : withoutToolset
  const after = names.reduce<readonly string[]>(
    (list, name) => change(list, name, { tools, custom }),
    toolsetListOf(settings, platform),
  )
  const isOwn = Object.hasOwn(platform_toolsets, platform)
  // A platform whose tools are those of the general list already needs no list of its own.
  if (!isOwn && isDeepStrictEqual(after, toolsetListOf(settings, platform))) return []
  const before = isOwn ? (platform_toolsets[platform] ?? []) : []
  return listEdits(['platform_toolsets', platform], before, after)
}

function listEdits(path: ListEdit['path'], before: readonly string[], after: readonly string[]): ListEdit[] {
  const removed = before.filter((entry) => !after.includes(entry))
  const added = after.filter((entry) => !before.includes(entry))
  return [...added.map((entry): ListEdit => ({ path, add: entry })), { path, remove: removed }]
}

interface Selectable {
  readonly tools: readonly SelectableTool[]
  readonly custom: CustomToolsets
}

/** The list with all tools of a toolset. */
function withToolset(list: readonly string[], name: string, { tools, custom }: Selectable): readonly string[] {
  const rest = list.filter((entry) => entry !== `-${name}`)
  const selected = selectTools(rest, tools, custom)
  const isComplete = [...selectTools([name], tools, custom)].every((tool) => selected.has(tool))
  return isComplete ? rest : [...rest, name]
}

/** The list without any tool of a toolset. It never becomes empty: an absent list would mean everything. */
function withoutToolset(list: readonly string[], name: string, all: Selectable): readonly string[] {
  const rest = list.filter((entry) => entry !== name)
  return rest.length === 0 || selects(rest, name, all) ? [...rest, `-${name}`] : rest
}

/** Whether the list selects a tool of the toolset. */
function selects(list: readonly string[], name: string, { tools, custom }: Selectable): boolean {
  const selected = selectTools(list, tools, custom)
  return [...selectTools([name], tools, custom)].some((tool) => selected.has(tool))
}

function report(
  { output, errors }: CliContext,
  { settings, tools, unavailable }: KnownToolsets,
  { names, platform, custom }: { names: readonly string[]; platform: string | undefined; custom: CustomToolsets },
): void {
  const selected = selectedTools({ settings, tools }, platform)
  const where = platform === undefined ? '' : ` on ${platform}`
  for (const name of names) {
    const members = [...selectTools([name], tools, custom)]
    const available = members.filter((tool) => selected.has(tool) && !unavailable.has(tool))
    const state = available.length === 0 ? 'off' : available.length === members.length ? 'on' : 'partly on'
    output.write(`${name} is ${state} for new conversations${where}.\n`)
    for (const tool of members.filter((each) => selected.has(each) && unavailable.has(each)))
      errors.write(`hermes: ${tool} is not offered: ${unavailable.get(tool)}\n`)
  }
  const { agent } = settings.config.current()
  const disabled = selectDisabledTools(agent.disabled_toolsets, tools, custom)
  const hidden = [...selectTools(names, tools, custom)].filter((tool) => disabled.has(tool))
  if (hidden.length > 0 && platform !== undefined)
    errors.write(`hermes: agent.disabled_toolsets takes away on all platforms: ${hidden.join(', ')}\n`)
}
