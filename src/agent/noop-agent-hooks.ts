/**
 * The agent without plugins: nobody has a say at any point.
 */
import type { AgentHooks } from './agent-hooks.ts'

const resolved = Promise.resolve()
const noop = () => undefined

export const noopAgentHooks: AgentHooks = {
  onSessionStart: () => resolved,
  collectContext: async () => '',
  transformOutput: async (_turn, text) => text,
  onTurnResponse: () => resolved,
  onTurnEnd: () => resolved,
  outputMayChange: () => false,
  filterTools: async (_turn, tools) => tools,
  rewriteRequest: async (_facts, request) => request,
  onRequestStart: noop,
  onRequestEnd: noop,
  onRequestError: noop,
  reissue: async () => null,
  onStreamStart: noop,
  onStreamDelta: noop,
  onStreamEnd: noop,
  beforeToolCall: async (_facts, args) => ({ kind: 'run', args }),
  afterToolCall: () => resolved,
  transformToolResult: async (_facts, _args, { result }) => result,
  onSubagentStart: noop,
  onSubagentStop: noop,
}
