/**
 * Agent hooks that record every call in order.
 */
import {
  type AgentHooks,
  noopAgentHooks,
  type RequestEndInfo,
  type RequestFailure,
  type RequestInfo,
  type ToolResult,
} from '../../src/agent/support/agent-hooks.ts'
import type { ModelRequest } from '../../src/agent/support/model-request.ts'
import type { JsonObject } from '../../src/lib/json.ts'
import type { RewriteTrace } from '../../src/middleware/managed-call.ts'

export interface RecordedRequest {
  readonly info: RequestInfo
  readonly request: ModelRequest
  readonly trace: RewriteTrace
}

export interface RecordingHooks extends AgentHooks {
  /** The names of the hooks, in the order in which they were called. */
  readonly events: readonly string[]
  readonly requestStarts: readonly RecordedRequest[]
  readonly requestEnds: readonly (RecordedRequest & RequestEndInfo)[]
  readonly requestFailures: readonly (RecordedRequest & RequestFailure)[]
  readonly toolResults: readonly (ToolResult & { readonly args: JsonObject; readonly trace: RewriteTrace })[]
  /** The text that streams have shown, with a `|` at the end of each. */
  readonly streamed: () => string
}

/** @param answers the results of plugins for the hooks that may return one */
export function createRecordingHooks(answers: Partial<AgentHooks> = {}): RecordingHooks {
  const events: string[] = []
  const requestStarts: RecordedRequest[] = []
  const requestEnds: (RecordedRequest & RequestEndInfo)[] = []
  const requestFailures: (RecordedRequest & RequestFailure)[] = []
  const toolResults: (ToolResult & { args: JsonObject; trace: RewriteTrace })[] = []
  let streamed = ''
  const asked = { ...noopAgentHooks, ...answers }
  return {
    events,
    requestStarts,
    requestEnds,
    requestFailures,
    toolResults,
    streamed: () => streamed,
    async onSessionStart(turn) {
      events.push('session start')
      await asked.onSessionStart(turn)
    },
    async collectContext(turn, about) {
      events.push('context')
      return asked.collectContext(turn, about)
    },
    async transformOutput(turn, text) {
      events.push('transform')
      return asked.transformOutput(turn, text)
    },
    async onTurnResponse(turn, about) {
      events.push('answered')
      await asked.onTurnResponse(turn, about)
    },
    async onTurnEnd(turn, how) {
      events.push('session end')
      await asked.onTurnEnd(turn, how)
    },
    outputMayChange: () => asked.outputMayChange(),
    filterTools: (turn, tools) => asked.filterTools(turn, tools),
    rewriteRequest: (info, request) => asked.rewriteRequest(info, request),
    onRequestStart(info, request, trace) {
      events.push('request')
      requestStarts.push({ info, request, trace })
    },
    onRequestEnd(info, request, trace, ending) {
      events.push('response')
      requestEnds.push({ info, request, trace, ...ending })
    },
    onRequestError(info, request, trace, failure) {
      events.push('failure')
      requestFailures.push({ info, request, trace, ...failure })
    },
    reissue: (info, request, response) => asked.reissue(info, request, response),
    onStreamStart: () => undefined,
    onStreamDelta(_info, _kind, delta) {
      streamed += delta
    },
    onStreamEnd(_info, _text, error) {
      streamed += error === null ? '|' : `(${error})|`
    },
    async beforeToolCall(info, args, trace) {
      events.push('before tool')
      return asked.beforeToolCall(info, args, trace)
    },
    async afterToolCall(_info, args, trace, ending) {
      events.push('after tool')
      toolResults.push({ args, trace, ...ending })
    },
    transformToolResult: (info, args, ending) => asked.transformToolResult(info, args, ending),
    onSubagentStart(parent, child) {
      events.push('child start')
      asked.onSubagentStart(parent, child)
    },
    onSubagentStop(parent, child, ending) {
      events.push('child stop')
      asked.onSubagentStop(parent, child, ending)
    },
  }
}
