/**
 * The tools that exist, whether or not the model is offered them.
 */
import { builtInTools } from '../../agent/tools/built-in-tools.ts'
import type { SelectableTool } from '../../agent/toolsets/select-tools.ts'
import type { PluginToolEntry } from '../../plugins/plugin-tools.ts'

/** An entry of `GET /api/tools`. */
export interface KnownTool extends SelectableTool {
  /** The id of the plugin; absent for a built-in tool. */
  readonly plugin?: string
}

/** The built-in tools, then those of the loaded plugins and of MCP servers. */
export function knownTools(
  pluginTools: readonly PluginToolEntry[],
  mcpTools: readonly SelectableTool[],
): readonly KnownTool[] {
  const ofPlugins = pluginTools.map(
    ({ owner, definition: { name, toolset } }): KnownTool => ({ name, toolset, plugin: owner }),
  )
  const names = new Set(ofPlugins.map(({ name }) => name))
  const builtIn = [...builtInTools.values()].filter(({ name }) => !names.has(name))
  return [...builtIn.map(({ name, toolset }): KnownTool => ({ name, toolset })), ...ofPlugins, ...mcpTools]
}
