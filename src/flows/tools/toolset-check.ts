/**
 * Checks the toolset lists of the configuration for the status. Without a list nothing is loaded.
 */
import type { SelectableTool } from '../../agent/toolsets/select-tools.ts'
import type { PluginToolEntry } from '../../plugins/plugin-tools.ts'
import type { ToolsetSettings } from './toolset-problems.ts'

export type ToolsetCheck = ReturnType<typeof createToolsetCheck>

export function createToolsetCheck(
  settings: () => ToolsetSettings,
  pluginTools: () => readonly PluginToolEntry[],
  mcpTools: () => Promise<readonly SelectableTool[]>,
) {
  let describe: (() => readonly string[]) | undefined
  return {
    /** The configuration has changed, or the plugins are loaded. Rejects when the code cannot be imported. */
    async review() {
      const { agent, toolsets, platform_toolsets, custom_toolsets } = settings()
      const lists = [...agent.disabled_toolsets, ...Object.keys(platform_toolsets), ...Object.keys(custom_toolsets)]
      describe = undefined
      if (lists.length === 0 && toolsets.join() === 'all') return
      const { describeToolsetProblems } = await import('./toolset-problems.ts')
      const { knownTools } = await import('./known-tools.ts')
      const ofServers = await mcpTools()
      describe = () => describeToolsetProblems(settings(), knownTools(pluginTools(), ofServers))
    },
    /** Entries that name nothing; empty before the first review. */
    problems: () => describe?.() ?? [],
  }
}
