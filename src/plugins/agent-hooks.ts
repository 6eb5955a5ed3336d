/**
 * What the agent asks of plugins, answered: callbacks are called, their answers put together. Without plugins every method
 * returns what it was given, and nothing is built.
 */
import type { AgentHooks } from '../agent/agent-hooks.ts'
import type { Logger } from '../lib/log.ts'
import { createRequestHooks } from './extension-points/request-hooks.ts'
import { createSubagentHooks } from './extension-points/subagent-hooks.ts'
import { createToolHooks } from './extension-points/tool-hooks.ts'
import { createTurnHooks } from './extension-points/turn-hooks.ts'
import type { PluginHooks } from './hooks/plugin-hooks.ts'
import type { TurnMemory } from './plugin-memory.ts'
import { createWarnOnce } from './warn-once.ts'

export interface AgentHooksDeps {
  readonly hooks: PluginHooks
  readonly memory: TurnMemory
  /** Whether middleware may change what the model says. */
  mayChangeOutput(): boolean
  /** `plugins.stream_reasoning_deltas`. */
  streamReasoning(): boolean
  /** Takes secrets out of what vendors say. */
  redact(text: string): string
  readonly log: Logger
}

export function createAgentHooks(deps: AgentHooksDeps): AgentHooks {
  const { hooks, memory } = deps
  const warnOnce = createWarnOnce(deps.log)
  const onInvalidResultAt = (hookName: string) => (owner: string, expected: string) =>
    warnOnce(owner, `the answer of plugin ${owner} to ${hookName} is ignored: ${expected}`)
  return {
    ...createTurnHooks(hooks, memory, onInvalidResultAt),
    ...createRequestHooks({ ...deps, onInvalidResultAt }),
    ...createToolHooks(hooks, onInvalidResultAt),
    ...createSubagentHooks(hooks),
    outputMayChange: () =>
      hooks.hasListeners('transform_llm_output') ||
      hooks.hasListeners('post_llm_call_can_reissue') ||
      deps.mayChangeOutput(),
  }
}
