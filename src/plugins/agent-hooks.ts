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

/**
 * @param streamReasoning `plugins.stream_reasoning_deltas`
 * @param redact removes secrets from error messages of vendors
 */
export function createAgentHooks(
  hooks: PluginHooks,
  memory: TurnMemory,
  streamReasoning: () => boolean,
  redact: (text: string) => string,
  log: Logger,
): AgentHooks {
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
