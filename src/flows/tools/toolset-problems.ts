/**
 * The entries of the toolset lists of the configuration that name nothing: what they were to give or to take away does not
 * happen.
 */
import type { AgentConfig } from '../../agent/config.ts'
import { findUnknownEntries, type SelectableTool } from '../../agent/toolsets/select-tools.ts'
import { toolsets } from '../../agent/toolsets/toolsets.ts'

export type ToolsetSettings = Pick<AgentConfig, 'agent' | 'toolsets' | 'platform_toolsets' | 'custom_toolsets'>

/** The lists by their keys. */
function listsOf({ agent, toolsets: common, platform_toolsets, custom_toolsets }: ToolsetSettings) {
  const ofRecord = (key: string, record: Readonly<Record<string, readonly string[]>>) =>
    Object.entries(record).map(([name, list]) => ({ key: `${key}.${name}`, list }))
  return [
    { key: 'agent.disabled_toolsets', list: agent.disabled_toolsets },
    { key: 'toolsets', list: common },
    ...ofRecord('platform_toolsets', platform_toolsets),
    ...ofRecord('custom_toolsets', custom_toolsets),
  ]
}

/** One sentence per problem. `tools` are the built-in tools and those of the loaded plugins. */
export function describeToolsetProblems(settings: ToolsetSettings, tools: readonly SelectableTool[]): string[] {
  const unknown = listsOf(settings).flatMap(({ key, list }) =>
    findUnknownEntries(list, tools, settings.custom_toolsets).map(({ name, nearest }) => {
      const question = nearest === null ? '' : `; did you mean ${JSON.stringify(nearest)}?`
      return `${key}: ${JSON.stringify(name)} is neither a toolset nor a tool${question}`
    }),
  )
  const hidden = Object.keys(settings.custom_toolsets)
    .filter((name) => Object.hasOwn(toolsets, name))
    .map((name) => `custom_toolsets.${name}: the gateway has a toolset of this name, which is used; rename yours`)
  return [...unknown, ...hidden]
}
