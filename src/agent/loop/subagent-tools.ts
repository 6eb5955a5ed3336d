/**
 * The tools of a sub-agent: those of its parent, without the ones that no sub-agent gets, within the toolsets of its task.
 */
import { DelegationRefused } from '../tools/tool.ts'
import { type CustomToolsets, selectTools } from '../toolsets/select-tools.ts'
import type { AgentTools } from './agent-tools.ts'

/** A sub-agent must not contact users, change the memory, schedule jobs, or run scripts that call tools (contract §4.9). */
const withheldTools: ReadonlySet<string> = new Set(['clarify', 'memory', 'send_message', 'execute_code', 'cronjob'])

/** Also the tools of a memory provider. */
const withheldToolset = 'memory'

const delegateTool = 'delegate_task'
/** An orchestrator has it by its role. */
const delegateToolset = 'delegation'

export interface SubagentToolRules {
  /** What the task asks for; undefined for the default. */
  readonly asked: readonly string[] | undefined
  /** `delegation.default_toolsets` */
  readonly defaults: readonly string[]
  /** `delegation.inherit_mcp_toolsets`: it has the MCP servers of its parent, beside its toolsets. */
  readonly inheritsMcp: boolean
  /** `custom_toolsets` */
  readonly custom: CustomToolsets
  readonly mayDelegate: boolean
}

/**
 * The names of the tools that a sub-agent gets. An entry that gives none of the tools of its parent is an error if it was asked
 * for. Throws `DelegationRefused`.
 */
export function toolNamesFor(
  tools: AgentTools,
  { asked, defaults, custom, inheritsMcp, mayDelegate }: SubagentToolRules,
): ReadonlySet<string> {
  const names = tools.schemas().map(({ name }) => name)
  const offered = names
    .filter((name) => name !== delegateTool && !withheldTools.has(name))
    .map((name) => ({ name, toolset: tools.toolsetOf(name) ?? '' }))
    .filter(({ toolset }) => toolset !== withheldToolset)
  const isDelegation = (entry: string) => mayDelegate && (entry === delegateTool || entry === delegateToolset)
  const selects = (entry: string) =>
    entry.startsWith('-') || isDelegation(entry) || selectTools([entry], offered, custom).size > 0
  const unknown = asked?.find((entry) => !selects(entry))
  if (unknown !== undefined) {
    const choices = [...new Set(offered.map(({ toolset }) => toolset))].sort().join(', ')
    throw new DelegationRefused(
      'unknown_toolset',
      `The toolset ${JSON.stringify(unknown.slice(0, 100))} has no tool for a sub-agent. There are: ${choices || 'none'}. None was started.`,
    )
  }
  const servers = inheritsMcp
    ? offered.map(({ toolset }) => toolset).filter((toolset) => toolset.startsWith('mcp-'))
    : []
  const selected = selectTools([...(asked ?? defaults), ...servers], offered, custom)
  return mayDelegate && names.includes(delegateTool) ? new Set([...selected, delegateTool]) : selected
}

/** Limits tools to these names. A call of another tool says why. */
export function onlyTools(names: ReadonlySet<string>, tools: AgentTools): AgentTools {
  const schemas = tools.schemas().filter(({ name }) => names.has(name))
  return {
    ...tools,
    schemas: () => schemas,
    prepare(call) {
      const prepared = tools.prepare(call)
      if (names.has(call.name) || prepared.kind === 'refused') return prepared
      return { kind: 'invalid', error: missingToolText(call.name) }
    },
  }
}

function missingToolText(name: string): string {
  if (name !== delegateTool) return `This sub-agent has no tool ${name}.`
  return `This sub-agent starts no sub-agents: delegate_task is for the role orchestrator, as deep as delegation.max_spawn_depth permits. Do the work with your own tools.`
}
