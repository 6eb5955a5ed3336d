/**
 * The named groups of tools (contract §4.12, S12). The names are those of Hermes; each built-in tool says to which one it belongs.
 */
import { builtInTools } from '../tools/built-in-tools.ts'

export interface Toolset {
  readonly tools: readonly string[]
  /** Names of other toolsets. */
  readonly includes: readonly string[]
}

function toolset(tools: readonly string[], includes: readonly string[] = []): Toolset {
  return { tools, includes }
}

/** All built-in tools but those that say that they are left out of it. */
function nearlyAll(name: string): Toolset {
  const tools = [...builtInTools.values()].filter(({ leftOutOf }) => leftOutOf?.includes(name) !== true)
  return toolset(tools.map((tool) => tool.name))
}

/** By the toolset that each built-in tool names. */
const toolsetsOfTools = Object.fromEntries(
  [...Map.groupBy(builtInTools.values(), (tool) => tool.toolset)].map(
    ([name, tools]) => [name, toolset(tools.map((tool) => tool.name))] as const,
  ),
)

export const toolsets: Readonly<Record<string, Toolset>> = {
  ...toolsetsOfTools,
  search: toolset(['web_search']),
  // Hermes has them. Here a plugin may have the tools.
  homeassistant: toolset([]),
  moa: toolset(['mixture_of_agents']),

  debugging: toolset(['terminal', 'process'], ['web', 'file']),
  safe: toolset([], ['web', 'vision', 'image_gen']),
  coding: nearlyAll('coding'),

  'hermes-cli': nearlyAll('hermes-cli'),
  'hermes-cron': nearlyAll('hermes-cron'),
  'hermes-acp': nearlyAll('hermes-acp'),
  'hermes-api-server': nearlyAll('hermes-api-server'),
  // What a webhook delivers was written by strangers.
  'hermes-webhook': toolset(['web_search', 'web_extract', 'vision_analyze', 'clarify']),
  'hermes-gateway': nearlyAll('hermes-gateway'),
}

/** The toolset of a platform, also of one that is not in the table. */
export function findToolset(name: string): Toolset | undefined {
  if (Object.hasOwn(toolsets, name)) return toolsets[name]
  return /^hermes-[a-z0-9-]+$/.test(name) ? nearlyAll(name) : undefined
}

/** Whether the toolset is that of a platform with everything: it has the tools of plugins, too. */
export function hasPluginTools(name: string): boolean {
  return name.startsWith('hermes-') && name !== 'hermes-webhook'
}
