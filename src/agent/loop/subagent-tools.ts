/**
 * The tools of a sub-agent: those of its parent, without the ones that no sub-agent gets, within the toolsets of its task.
 */
import { type CustomToolsets, selectTools } from '../toolsets/select-tools.ts'
import type { AgentTools } from './agent-tools.ts'

/** It includes the tools of a memory provider: a sub-agent changes no memory (contract §4.9). */
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

/** The tools that a sub-agent gets. What is asked for and gives none of the tools of its parent is left out. */
export function toolNamesFor(
  tools: AgentTools,
  { asked, defaults, custom, inheritsMcp, mayDelegate }: SubagentToolRules,
) {
  const names = tools.schemas().map(({ name }) => name)
  const offered = names
    .map((name) => tools.factsOf(name) ?? { name, toolset: '' })
    .filter(({ name, isWithheldFromSubagents }) => name !== delegateTool && isWithheldFromSubagents !== true)
    .filter(({ toolset }) => toolset !== withheldToolset)
  const isDelegation = (entry: string) => mayDelegate && (entry === delegateTool || entry === delegateToolset)
  const selects = (entry: string) =>
    entry.startsWith('-') || isDelegation(entry) || selectTools([entry], offered, custom).size > 0
  const dropped = asked?.filter((entry) => !selects(entry)) ?? []
  const choices = [...new Set(offered.map(({ toolset }) => toolset))].sort()
  const servers = inheritsMcp
    ? offered.map(({ toolset }) => toolset).filter((toolset) => toolset.startsWith('mcp-'))
    : []
  const selected = selectTools([...(asked ?? defaults), ...servers], offered, custom)
  return {
    names: mayDelegate && names.includes(delegateTool) ? new Set([...selected, delegateTool]) : selected,
    /** Which toolsets were asked for and give no tool, for the model; '' when each gives one. */
    note: dropped.length === 0 ? '' : droppedNote(dropped, choices),
  }
}

const maxNamedToolsets = 10
const maxNameChars = 100

function droppedNote(dropped: readonly string[], choices: readonly string[]): string {
  const named = dropped.slice(0, maxNamedToolsets).map((name) => JSON.stringify(name.slice(0, maxNameChars)))
  const more = dropped.length > named.length ? ` and ${dropped.length - named.length} more` : ''
  return `It has no tools of ${named.join(', ')}${more}, which a sub-agent may not have or which do not exist. There are: ${choices.join(', ') || 'none'}.`
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
