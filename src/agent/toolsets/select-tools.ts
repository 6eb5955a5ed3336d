/**
 * Resolves lists of toolsets to tools. An entry is a toolset of the table, of `custom_toolsets` or of a plugin, or a tool;
 * `all` and `*` are everything, and `-name` takes away, wherever it stands in the list. An optional tool is selected only by its own
 * name or that of its toolset.
 */
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { builtInTools } from '../tools/built-in-tools.ts'
import type { ToolFacts } from '../tools/tool.ts'
import { findToolset, hasPluginTools, toolsets } from './toolsets.ts'

/** `custom_toolsets`: the entries of each toolset. */
export type CustomToolsets = Readonly<Record<string, readonly string[]>>

/** What decides whether a list selects a tool. */
export type SelectableTool = Pick<ToolFacts, 'name' | 'toolset' | 'isOptional' | 'leftOutOf'>

interface Selection {
  readonly tools: Set<string>
  /** Toolsets to which tools belong by their own definition. */
  readonly toolsets: Set<string>
  isAll: boolean
  /** Toolsets of platforms that have the tools of plugins, too. */
  readonly platforms: Set<string>
}

/** In a list of Hermes: without the tools of MCP servers. */
const withoutMcp = 'no_mcp'
/** The toolset of an MCP server begins with this. A list may also name the server alone. */
const mcpPrefix = 'mcp-'

/** The names of the selected tools. An unknown entry selects nothing. */
export function selectTools(
  list: readonly string[],
  tools: readonly SelectableTool[],
  custom: CustomToolsets,
): ReadonlySet<string> {
  const included = resolveEntries(
    list.filter((entry) => !entry.startsWith('-')),
    custom,
  )
  const excluded = resolveEntries(
    list.filter((entry) => entry.startsWith('-')).map((entry) => entry.slice(1)),
    custom,
  )
  const isLeftOut = ({ toolset }: SelectableTool) => list.includes(withoutMcp) && toolset.startsWith(mcpPrefix)
  return new Set(
    tools
      .filter((tool) => (tool.isOptional === true ? names(included, tool) : contains(included, tool)))
      .filter((tool) => !contains(excluded, tool) && !isLeftOut(tool))
      .map(({ name }) => name),
  )
}

/**
 * The names of the tools that a list disables. The toolset of a platform disables nothing: it shares its tools with the
 * others.
 */
export function selectDisabledTools(
  list: readonly string[],
  tools: readonly SelectableTool[],
  custom: CustomToolsets,
): ReadonlySet<string> {
  return selectTools(
    list.filter((entry) => !entry.startsWith('hermes-')),
    tools.map(({ name, toolset }) => ({ name, toolset })),
    custom,
  )
}

function resolveEntries(entries: readonly string[], custom: CustomToolsets): Selection {
  const selection: Selection = { tools: new Set(), toolsets: new Set(), isAll: false, platforms: new Set() }
  const seen = new Set<string>()
  const waiting = [...entries]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    const toolset = findToolset(name)
    if (name === 'all' || name === '*') selection.isAll = true
    else if (toolset !== undefined) {
      for (const tool of toolset.tools) selection.tools.add(tool)
      waiting.push(...toolset.includes)
      selection.toolsets.add(name)
      if (hasPluginTools(name)) selection.platforms.add(name)
    } else if (Object.hasOwn(custom, name)) waiting.push(...(custom[name] ?? []))
    else {
      selection.tools.add(name)
      selection.toolsets.add(name)
      selection.toolsets.add(`${mcpPrefix}${name}`)
    }
  }
  return selection
}

function contains(selection: Selection, { name, toolset, leftOutOf = [] }: SelectableTool): boolean {
  if (selection.isAll || selection.tools.has(name) || selection.toolsets.has(toolset)) return true
  return !builtInTools.has(name) && [...selection.platforms].some((platform) => !leftOutOf.includes(platform))
}

/** Whether an entry is the tool or its toolset. */
function names({ toolsets: entries }: Selection, { name, toolset }: SelectableTool): boolean {
  return entries.has(name) || entries.has(toolset)
}

/** An entry that names nothing. */
export interface UnknownEntry {
  readonly name: string
  /** The most similar name; null if none is similar. */
  readonly nearest: string | null
}

/** The entries of a list that name nothing, each once. `tools` are the built-in tools and those of the loaded plugins. */
export function findUnknownEntries(
  list: readonly string[],
  tools: readonly SelectableTool[],
  custom: CustomToolsets,
): readonly UnknownEntry[] {
  const known = knownEntries(tools, custom)
  const names = list.map((entry) => (entry.startsWith('-') ? entry.slice(1) : entry))
  return [...new Set(names)]
    .filter((name) => !known.has(name) && findToolset(name) === undefined && name !== withoutMcp)
    .map((name) => ({ name, nearest: findClosestMatch(name, known) }))
}

function knownEntries(tools: readonly SelectableTool[], custom: CustomToolsets): ReadonlySet<string> {
  const ofTable = Object.entries(toolsets).flatMap(([name, { tools: memberTools }]) => [name, ...memberTools])
  const ofTools = tools.flatMap(({ name, toolset }) => [
    ...[name, toolset],
    ...(toolset.startsWith(mcpPrefix) ? [toolset.slice(mcpPrefix.length)] : []),
  ])
  return new Set(['all', '*', ...ofTable, ...Object.keys(custom), ...ofTools])
}
