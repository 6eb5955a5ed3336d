/**
 * The tools of a sub-agent: those of its parent, without the ones that no sub-agent gets, within the toolsets of its task.
 */
import { DelegationRefused } from '../tools/tool.ts'
import type { AgentTools } from './agent-tools.ts'

/** A sub-agent must not contact users, change the memory, schedule jobs, or run scripts that call tools (contract §4.9). */
const withheldTools: ReadonlySet<string> = new Set(['clarify', 'memory', 'send_message', 'execute_code', 'cronjob'])

const delegateTool = 'delegate_task'

export interface SubagentToolRules {
  /** What the task asks for; undefined for the default. */
  readonly asked: readonly string[] | undefined
  /** `delegation.default_toolsets` */
  readonly defaults: readonly string[]
  readonly mayDelegate: boolean
}

/**
 * The names of the tools that a sub-agent gets. A name that its parent does not have gives none, and is an error if it was
 * asked for. Throws `DelegationRefused`.
 */
export function toolNamesFor(tools: AgentTools, { asked, defaults, mayDelegate }: SubagentToolRules): Set<string> {
  const names = tools.schemas().map(({ name }) => name)
  const offered = names.filter((name) => name !== delegateTool && !withheldTools.has(name))
  const available = [...new Set(offered.map((name) => tools.toolsetOf(name)))].filter((one) => one !== undefined)
  const unknown = asked?.find((one) => one !== '*' && !available.includes(one))
  if (unknown !== undefined) {
    const choices = available.length === 0 ? 'none' : available.sort().join(', ')
    throw new DelegationRefused(
      'unknown_toolset',
      `There is no toolset ${JSON.stringify(unknown.slice(0, 100))} for a sub-agent. There are: ${choices}. None was started.`,
    )
  }
  const toolsets = asked ?? defaults
  const permits = (name: string) => toolsets.includes('*') || toolsets.includes(tools.toolsetOf(name) ?? '')
  return new Set([...offered.filter(permits), ...(mayDelegate && names.includes(delegateTool) ? [delegateTool] : [])])
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
