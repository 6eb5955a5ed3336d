/**
 * Implements the extension points of the agent with plugin hooks and the memory provider.
 */
import type { AgentHooks } from '../agent/support/agent-hooks.ts'
import type { Logger } from '../lib/log.ts'
import { createRequestHooks } from './extension-points/request.ts'
import { createInvalidResultLog } from './extension-points/results.ts'
import { createToolHooks } from './extension-points/tool.ts'
import { createSubagentHooks, createTurnHooks } from './extension-points/turn.ts'
import type { PluginHooks } from './hooks/plugin-hooks.ts'
import type { TurnMemory } from './plugin-memory.ts'

export interface AgentHooksDeps {
  readonly hooks: PluginHooks
  readonly memory: TurnMemory
  /** `plugins.stream_reasoning_deltas`. */
  streamReasoning(): boolean
  /** Removes secrets from error messages of vendors. */
  redact(text: string): string
  readonly log: Logger
}

export function createAgentHooks(deps: AgentHooksDeps): AgentHooks {
  const { hooks, memory, streamReasoning, redact, log } = deps
  const onInvalidResultOf = createInvalidResultLog(log)
  return {
    ...createTurnHooks(hooks, memory, onInvalidResultOf),
    ...createRequestHooks(hooks, streamReasoning, redact, onInvalidResultOf),
    ...createToolHooks(hooks, onInvalidResultOf),
    ...createSubagentHooks(hooks, memory),
    outputMayChange: () =>
      hooks.hasListeners('transform_llm_output') || hooks.hasListeners('post_llm_call_can_reissue'),
  }
}
