/**
 * The ceiling of a role: which tools the person who caused a turn may cause, whatever the model decides. Loaded with the
 * first turn that has one.
 */
import type { Authority } from '../../message/authority.ts'
import type { ToolMode } from '../../message/transcript.ts'
import type { LoadedTools } from '../tools/registry.ts'
import type { AgentTools } from './agent-tools.ts'

export interface Ceiling {
  readonly authority: Authority
  /** Names of tools, toolsets and modes; `*` for all, `-name` to take one away. */
  readonly list: readonly string[]
  /**
   * Whether the model is offered only what the ceiling permits. False where several people share a session: another list of
   * tools in each turn would change the beginning of every prompt, so that only the call is refused.
   */
  readonly filtersSchemas: boolean
}

/** The tools within the ceiling. A call beyond it is refused before anything decides about it. */
export function withCeiling(
  tools: AgentTools,
  resolve: LoadedTools['resolve'],
  { authority, list, filtersSchemas }: Ceiling,
): AgentTools {
  const permits = (name: string, mode: ToolMode | undefined): boolean => {
    const tool = resolve(name)
    if (tool === undefined) return true
    const isPermitted = permitsTool(list, { name, toolset: tool.facts.toolset, mode: mode ?? tool.mode })
    return isPermitted && (tool.facts.requires ?? []).every((other) => permits(other, undefined))
  }
  return {
    ...tools,
    schemas: () => (filtersSchemas ? tools.schemas().filter(({ name }) => permits(name, undefined)) : tools.schemas()),
    prepare(call) {
      const prepared = tools.prepare(call)
      if (permits(call.name, prepared.kind === 'ready' ? prepared.mode : undefined)) return prepared
      return { kind: 'refused', code: 'not_allowed_for_role', error: refusalText(call.name, authority) }
    },
  }
}

interface CeilingTool {
  readonly name: string
  readonly toolset: string
  /** Undefined if it depends on the arguments. */
  readonly mode: ToolMode | undefined
}

/** The most specific entry decides: the name, then the toolset, then the mode, then `*`. Without an entry: no. */
export function permitsTool(list: readonly string[], { name, toolset, mode }: CeilingTool): boolean {
  for (const key of [name, toolset, mode, '*']) {
    if (key === undefined) continue
    if (list.includes(`-${key}`)) return false
    if (list.includes(key)) return true
  }
  return false
}

function refusalText(tool: string, { role, chatType }: Authority): string {
  const place = chatType === 'dm' ? 'in a direct message' : `in a ${chatType}`
  return `${tool} was not run: the person who caused this turn is a ${role}, and a ${role} may not use it ${place}. No other tool may do the same for this person. Tell the person that an owner of the gateway can do this or permit it.`
}
