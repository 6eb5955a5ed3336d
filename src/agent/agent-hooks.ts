/**
 * Where the agent lets plugins have a say: the questions the loop asks, with the answers already put together.
 * The room of the plugins implements this; without plugins every method is a constant.
 *
 * Nothing here rejects, except where it says so, and nothing is built unless somebody listens.
 */
import type { RewriteTrace } from '../middleware/contract.ts'
import type { JsonObject, ModelRequest } from './models/provider.ts'
import type { SubagentResult } from './tools/tool.ts'

/** What is the same for a whole turn. */
export interface TurnInfo {
  readonly sessionId: string
  readonly sessionKey: string
  readonly turnId: string
  /** The id of a background task; the session's id otherwise. */
  readonly taskId: string
  /** `cli` on the command line. */
  readonly platform: string
  /** `<platform>_<chat_type>`; '' on the command line. */
  readonly route: string
  readonly senderId: string
  /** '' where there is none. */
  readonly parentSessionId: string
  readonly model: string
  readonly provider: string
  readonly baseUrl: string
  readonly apiMode: string
}

/** One attempt at the model. */
export interface RequestInfo {
  readonly turn: TurnInfo
  readonly apiRequestId: string
  /** From 1. */
  readonly iteration: number
  /** From 1; counts a reissue, too. */
  readonly apiCallCount: number
  /** From 0. */
  readonly retryCount: number
}

export interface ToolInfo {
  readonly turn: TurnInfo
  readonly toolName: string
  readonly toolCallId: string
  readonly apiRequestId: string
}

/** What is to become of a tool call. Aborts and programming errors reject; everything else is one of these. */
export type ToolDirective =
  | { readonly kind: 'run'; readonly args: JsonObject }
  | { readonly kind: 'block'; readonly message: string }
  | { readonly kind: 'approve'; readonly message: string; readonly ruleKey: string; readonly args: JsonObject }

export interface ToolResult {
  /** What the model reads. */
  readonly result: string
  readonly status: 'ok' | 'error' | 'blocked'
  readonly errorType: string | null
  readonly errorMessage: string | null
  readonly durationMs: number
}

export interface AgentHooks {
  // — a turn
  /** `on_session_start`: a new session has its system prompt. */
  onSessionStart(turn: TurnInfo): Promise<void>
  /** `pre_llm_call` and memory: what is added to the user's message in requests of this turn; '' for nothing. */
  collectContext(turn: TurnInfo, about: TurnStartInfo): Promise<string>
  /** `transform_llm_output`. */
  transformOutput(turn: TurnInfo, text: string): Promise<string>
  /** `post_llm_call` and memory. */
  onTurnResponse(turn: TurnInfo, about: TurnResponseInfo): Promise<void>
  /** `on_session_end`: at the end of every run, however it ended. */
  onTurnEnd(turn: TurnInfo, how: TurnEndInfo): Promise<void>

  // — a model call
  /** Whether somebody may still change what the model says, so that drafts must wait. */
  outputMayChange(): boolean
  /** `pre_tool_list_finalized`: the wire format's own tool objects of this request. */
  filterTools(turn: TurnInfo, tools: readonly JsonObject[]): Promise<readonly JsonObject[]>
  /** `pre_api_request_mutable`. Not asked about the request of a reissue: that is the word of a plugin already. */
  rewriteRequest(facts: RequestInfo, request: ModelRequest): Promise<ModelRequest>
  /** `pre_api_request`. */
  onRequestStart(facts: RequestInfo, request: ModelRequest, trace: RewriteTrace): void
  /** `post_api_request`: of a reissued iteration the second call only. */
  onRequestEnd(facts: RequestInfo, request: ModelRequest, trace: RewriteTrace, ending: RequestEndInfo): void
  /** `api_request_error`. */
  onRequestError(facts: RequestInfo, request: ModelRequest, trace: RewriteTrace, failure: RequestFailure): void
  /** `post_llm_call_can_reissue`: the request to be sent once more, or null. */
  reissue(facts: RequestInfo, request: ModelRequest, response: JsonObject): Promise<ModelRequest | null>
  onStreamStart(facts: RequestInfo): void
  onStreamDelta(facts: RequestInfo, kind: 'text' | 'reasoning', delta: string): void
  onStreamEnd(facts: RequestInfo, finalText: string, error: string | null): void

  // — a tool call
  /** `pre_tool_call`, on the effective arguments. */
  beforeToolCall(facts: ToolInfo, args: JsonObject, trace: RewriteTrace): Promise<ToolDirective>
  /** `post_tool_call`. */
  afterToolCall(facts: ToolInfo, args: JsonObject, trace: RewriteTrace, ending: ToolResult): Promise<void>
  /** `transform_tool_result`. */
  transformToolResult(facts: ToolInfo, args: JsonObject, ending: ToolResult): Promise<string>

  // — a sub-agent, by the turn that made it
  /** `subagent_start`. */
  onSubagentStart(parent: TurnInfo, child: SubagentInfo): void
  /** `subagent_stop`. */
  onSubagentStop(parent: TurnInfo, child: SubagentInfo, ending: SubagentEndInfo): void
}

export interface SubagentInfo {
  readonly sessionId: string
  readonly subagentId: string
  /** `leaf`: it makes no sub-agents. */
  readonly role: string
  readonly goal: string
}

export interface SubagentEndInfo extends SubagentResult {
  readonly toolCalls: readonly SubagentToolCall[]
  readonly durationMs: number
}

export interface SubagentToolCall {
  readonly name: string
  /** JSON text as the model wrote it. */
  readonly arguments: string
  readonly ok: boolean
}

export interface TurnStartInfo {
  readonly userMessage: string
  /** OpenAI format; made only when asked for. */
  history(): readonly JsonObject[]
  readonly isFirstTurn: boolean
}

export interface TurnResponseInfo {
  readonly userMessage: string
  readonly response: string
  history(): readonly JsonObject[]
}

export interface TurnEndInfo {
  readonly completed: boolean
  readonly failed: boolean
  readonly interrupted: boolean
  /** `stop`, `max_iterations`, `interrupted`, `error: …` */
  readonly reason: string
}

export interface RequestEndInfo {
  readonly response: JsonObject
  readonly usage: JsonObject
  readonly finishReason: string
  readonly durationMs: number
}

export interface RequestFailure {
  readonly error: unknown
  readonly statusCode: number | null
  readonly retryable: boolean
  readonly reason: string
  readonly durationMs: number
}
