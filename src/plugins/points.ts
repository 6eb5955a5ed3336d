/**
 * What the agent asks of plugins, answered: callbacks are called, their answers put together. Without plugins every method
 * returns what it was given, and nothing is built.
 */
import type { AgentPoints } from '../agent/points.ts'
import type { Logger } from '../lib/log.ts'
import { createComplaints } from './complaints.ts'
import type { PluginHooks } from './hooks/hooks.ts'
import type { TurnMemory } from './memory.ts'
import { createRequestPoints } from './points/request.ts'
import { createSubagentPoints } from './points/subagent.ts'
import { createToolPoints } from './points/tool.ts'
import { createTurnPoints } from './points/turn.ts'

export interface PluginPointsDeps {
  readonly hooks: PluginHooks
  readonly memory: TurnMemory
  /** Whether middleware may change what the model says. */
  changesAnswers(): boolean
  /** `plugins.stream_reasoning_deltas`. */
  streamReasoning(): boolean
  /** Takes secrets out of what vendors say. */
  redact(text: string): string
  readonly log: Logger
}

export function createPluginPoints(deps: PluginPointsDeps): AgentPoints {
  const { hooks, memory } = deps
  const complain = createComplaints(deps.log)
  const misfitAt = (point: string) => (owner: string, expected: string) =>
    complain(owner, `the answer of plugin ${owner} to ${point} is ignored: ${expected}`)
  return {
    ...createTurnPoints(hooks, memory, misfitAt),
    ...createRequestPoints({ ...deps, misfitAt }),
    ...createToolPoints(hooks, misfitAt),
    ...createSubagentPoints(hooks),
    holdsDrafts: () =>
      hooks.has('transform_llm_output') || hooks.has('post_llm_call_can_reissue') || deps.changesAnswers(),
  }
}
