/**
 * The toolsets that new conversations are offered, and which of them the configuration takes away.
 */
import type { AgentConfig } from '../../agent/config.ts'
import { type SelectableTool, selectDisabledTools, selectTools } from '../../agent/toolsets/select-tools.ts'
import { declaredToolsets } from '../../platforms/registry.ts'

export interface ToolsetSettings {
  readonly config: {
    current(): Pick<AgentConfig, 'toolsets' | 'platform_toolsets' | 'custom_toolsets'> & {
      readonly agent: Pick<AgentConfig['agent'], 'disabled_toolsets'>
    }
  }
  readonly catalogue: Parameters<typeof declaredToolsets>[0]
}

export interface ToolsetState {
  readonly tools: readonly SelectableTool[]
  readonly settings: ToolsetSettings
  /** Why a tool cannot be offered, by its name. */
  readonly unavailable: ReadonlyMap<string, string>
}

export interface ListedToolset {
  readonly name: string
  /** `partly`: some of its tools are taken away. */
  readonly state: 'on' | 'off' | 'partly'
  /** What is missing for tools that no list takes away. */
  readonly reason?: string
  /** The tools of the set that exist here. */
  readonly tools: readonly string[]
}

/** The toolsets with tools that exist here; neither those of platforms nor those that consist of others. */
export function listToolsets(known: ToolsetState, platform: string | undefined): readonly ListedToolset[] {
  const { tools, settings, unavailable } = known
  const { custom_toolsets: custom } = settings.config.current()
  const selected = selectedTools(known, platform)
  const names = new Set([...tools.map(({ toolset }) => toolset), ...Object.keys(custom)])
  return [...names].sort().flatMap((name): ListedToolset[] => {
    const members = [...selectTools([name], tools, custom)].sort()
    if (members.length === 0) return []
    const wanted = members.filter((tool) => selected.has(tool))
    const available = wanted.filter((tool) => !unavailable.has(tool)).length
    const state = available === members.length ? 'on' : available === 0 ? 'off' : 'partly'
    const reason = [...new Set(wanted.flatMap((tool) => unavailable.get(tool) ?? []))].join('; ')
    return [{ name, state, ...(reason === '' ? {} : { reason }), tools: members }]
  })
}

/** What no list takes away from a new conversation. Undefined as platform: one without a list of its own. */
export function selectedTools(
  { tools, settings }: Pick<ToolsetState, 'tools' | 'settings'>,
  platform: string | undefined,
): ReadonlySet<string> {
  const { agent, custom_toolsets: custom } = settings.config.current()
  const disabled = selectDisabledTools(agent.disabled_toolsets, tools, custom)
  const selected = [...selectTools(toolsetListOf(settings, platform), tools, custom)].filter(
    (name) => !disabled.has(name),
  )
  // A script can do what a command can.
  return new Set(selected.filter((name) => name !== 'execute_code' || selected.includes('terminal')))
}

/** The list of a platform. */
export function toolsetListOf({ config, catalogue }: ToolsetSettings, platform: string | undefined): readonly string[] {
  const { toolsets: common, platform_toolsets } = config.current()
  if (platform !== undefined && Object.hasOwn(platform_toolsets, platform)) return platform_toolsets[platform] ?? []
  const toolset = platform === undefined ? undefined : declaredToolsets(catalogue).get(platform)
  return toolset === undefined ? common : [toolset]
}
