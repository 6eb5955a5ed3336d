/**
 * Where the agent lets plugins have a say: the questions the loop asks, with the answers already put together.
 * The room of the plugins implements this; without plugins every method is a constant.
 *
 * Nothing here rejects, except where it says so, and nothing is built unless somebody listens.
 */
import type { Trace } from '../middleware/contract.ts'
import type { JsonObject, ModelRequest } from './provider.ts'
import type { ChildReport } from './tool.ts'

/** What is the same for a whole turn. */
export interface TurnFacts {
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
export interface RequestFacts {
  readonly turn: TurnFacts
  readonly apiRequestId: string
  /** From 1. */
  readonly iteration: number
  /** From 1; counts a reissue, too. */
  readonly apiCallCount: number
  /** From 0. */
  readonly retryCount: number
}

export interface ToolFacts {
  readonly turn: TurnFacts
  readonly toolName: string
  readonly toolCallId: string
  readonly apiRequestId: string
}

/** What is to become of a tool call. Aborts and programming errors reject; everything else is one of these. */
export type ToolDirective =
  | { readonly kind: 'run'; readonly args: JsonObject }
  | { readonly kind: 'block'; readonly message: string }
  | { readonly kind: 'approve'; readonly message: string; readonly ruleKey: string; readonly args: JsonObject }

export interface ToolEnding {
  /** What the model reads. */
  readonly result: string
  readonly status: 'ok' | 'error' | 'blocked'
  readonly errorType: string | null
  readonly errorMessage: string | null
  readonly durationMs: number
}

export interface AgentPoints {
  // — a turn
  /** `on_session_start`: a new session has its system prompt. */
  sessionStarted(turn: TurnFacts): Promise<void>
  /** `pre_llm_call` and memory: what is added to the user's message in requests of this turn; '' for nothing. */
  contextFor(turn: TurnFacts, about: TurnBeginning): Promise<string>
  /** `transform_llm_output`. */
  transformAnswer(turn: TurnFacts, text: string): Promise<string>
  /** `post_llm_call` and memory. */
  answered(turn: TurnFacts, about: TurnAnswer): Promise<void>
  /** `on_session_end`: at the end of every run, however it ended. */
  ended(turn: TurnFacts, how: TurnExit): Promise<void>

  // — a model call
  /** Whether somebody may still change what the model says, so that drafts must wait. */
  holdsDrafts(): boolean
  /** `pre_tool_list_finalized`: the wire format's own tool objects of this request. */
  filterTools(turn: TurnFacts, tools: readonly JsonObject[]): Promise<readonly JsonObject[]>
  /** `pre_api_request_mutable`. Not asked about the request of a reissue: that is the word of a plugin already. */
  rewriteRequest(facts: RequestFacts, request: ModelRequest): Promise<ModelRequest>
  /** `pre_api_request`. */
  requestStarts(facts: RequestFacts, request: ModelRequest, trace: Trace): void
  /** `post_api_request`: of a reissued iteration the second call only. */
  requestEnded(facts: RequestFacts, request: ModelRequest, trace: Trace, ending: RequestEnding): void
  /** `api_request_error`. */
  requestFailed(facts: RequestFacts, request: ModelRequest, trace: Trace, failure: RequestFailure): void
  /** `post_llm_call_can_reissue`: the request to be sent once more, or null. */
  reissue(facts: RequestFacts, request: ModelRequest, response: JsonObject): Promise<ModelRequest | null>
  streamStarted(facts: RequestFacts): void
  streamDelta(facts: RequestFacts, kind: 'text' | 'reasoning', delta: string): void
  streamEnded(facts: RequestFacts, finalText: string, error: string | null): void

  // — a tool call
  /** `pre_tool_call`, on the effective arguments. */
  beforeTool(facts: ToolFacts, args: JsonObject, trace: Trace): Promise<ToolDirective>
  /** `post_tool_call`. */
  afterTool(facts: ToolFacts, args: JsonObject, trace: Trace, ending: ToolEnding): Promise<void>
  /** `transform_tool_result`. */
  transformResult(facts: ToolFacts, args: JsonObject, ending: ToolEnding): Promise<string>

  // — a sub-agent, by the turn that made it
  /** `subagent_start`. */
  subagentStarted(parent: TurnFacts, child: ChildFacts): void
  /** `subagent_stop`. */
  subagentStopped(parent: TurnFacts, child: ChildFacts, ending: ChildEnding): void
}

export interface ChildFacts {
  readonly sessionId: string
  readonly subagentId: string
  /** `leaf`: it makes no sub-agents. */
  readonly role: string
  readonly goal: string
}

export interface ChildEnding extends ChildReport {
  readonly calls: readonly ChildToolCall[]
  readonly durationMs: number
}

export interface ChildToolCall {
  readonly name: string
  /** JSON text as the model wrote it. */
  readonly arguments: string
  readonly ok: boolean
}

export interface TurnBeginning {
  readonly userMessage: string
  /** OpenAI format; made only when asked for. */
  history(): readonly JsonObject[]
  readonly isFirstTurn: boolean
}

export interface TurnAnswer {
  readonly userMessage: string
  readonly response: string
  history(): readonly JsonObject[]
}

export interface TurnExit {
  readonly completed: boolean
  readonly failed: boolean
  readonly interrupted: boolean
  /** `stop`, `max_iterations`, `interrupted`, `error: …` */
  readonly reason: string
}

export interface RequestEnding {
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
