/**
 * The extension points through which the agent calls plugins. The `plugins` module implements them and merges the results
 * of several plugins; without plugins every method returns a constant.
 *
 * No method rejects unless its description says so. Payloads are built only for registered hooks.
 */
import type { JsonObject } from '../../lib/json.ts'
import type { Role } from '../../message/authority.ts'
import type { BackgroundDelegation, MessageEvent } from '../../message/event.ts'
import type { Usage } from '../../message/transcript.ts'
import type { RewriteTrace } from '../../middleware/managed-call.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { ModelRequest } from './model-request.ts'
import type { SubagentResult, SubagentRole } from './subagent-result.ts'

/** Data that stays the same for a whole turn. */
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
  /** The role of the person who caused the turn. */
  readonly role: Role
  /** The person who caused the turn, also a turn in the background: `<platform>:<user id>`. Absent for the gateway itself. */
  readonly causedBy?: string | undefined
  /** The turn for which a sub-agent works. Absent for a turn that is no sub-agent. */
  readonly rootTurnId?: string
  /** '' for a session without a parent. */
  readonly parentSessionId: string
  /** Which sub-agent it is. Absent for a turn that is no sub-agent. */
  readonly subagent?: SubagentInfo
  readonly model: string
  readonly provider: string
  readonly baseUrl: string
  readonly apiMode: string
}

/** One call of the model. */
export interface RequestInfo {
  readonly turn: TurnInfo
  readonly apiRequestId: string
  /** From 1. */
  readonly iteration: number
  /** From 1; includes reissues. */
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

/** The decision about a tool call. Aborts and programming errors reject instead. */
export type ToolDirective =
  | { readonly kind: 'run'; readonly args: JsonObject }
  | { readonly kind: 'block'; readonly message: string }
  | { readonly kind: 'approve'; readonly message: string; readonly ruleKey: string; readonly args: JsonObject }

export interface ToolResult {
  /** The text for the model. */
  readonly result: string
  readonly status: 'ok' | 'error' | 'blocked'
  readonly errorType: string | null
  readonly errorMessage: string | null
  readonly durationMs: number
}

export interface AgentHooks {
  // Turn
  /** `on_session_start`: the system prompt of a new session was created. */
  onSessionStart(turn: TurnInfo): Promise<void>
  /** `pre_llm_call` and memory: text that is added to the user's message in the requests of this turn; '' for none. */
  collectContext(turn: TurnInfo, about: TurnStartInfo): Promise<string>
  /** `transform_llm_output`. */
  transformOutput(turn: TurnInfo, text: string): Promise<string>
  /** `post_llm_call` and memory. */
  onTurnResponse(turn: TurnInfo, about: TurnResponseInfo): Promise<void>
  /** `on_session_end`: at the end of every turn, also of a failed or interrupted one. */
  onTurnEnd(turn: TurnInfo, end: TurnEndInfo): Promise<void>

  // Model call
  /** Whether a plugin hook may still change the output of the model, so that it must not be shown yet. */
  outputMayChange(): boolean
  /** `pre_tool_list_finalized`: gets the tool objects of this request in the wire format. */
  filterTools(turn: TurnInfo, tools: readonly JsonObject[]): Promise<readonly JsonObject[]>
  /** `pre_api_request_mutable`. It is not called for the request of a reissue, which a plugin wrote. */
  rewriteRequest(info: RequestInfo, request: ModelRequest): Promise<ModelRequest>
  /** `pre_api_request`. */
  onRequestStart(info: RequestInfo, request: ModelRequest, trace: RewriteTrace): void
  /** `post_api_request`: for a reissued iteration, only the second call. */
  onRequestEnd(info: RequestInfo, request: ModelRequest, trace: RewriteTrace, end: RequestEndInfo): void
  /** `api_request_error`. */
  onRequestError(info: RequestInfo, request: ModelRequest, trace: RewriteTrace, failure: RequestFailure): void
  /** `post_llm_call_can_reissue`: the request to send again, or null. */
  reissue(info: RequestInfo, request: ModelRequest, response: JsonObject): Promise<ModelRequest | null>
  onStreamStart(info: RequestInfo): void
  onStreamDelta(info: RequestInfo, kind: 'text' | 'reasoning', delta: string): void
  onStreamEnd(info: RequestInfo, finalText: string, error: string | null): void

  // Tool call
  /** `pre_tool_call`, on the effective arguments. */
  beforeToolCall(info: ToolInfo, args: JsonObject, trace: RewriteTrace): Promise<ToolDirective>
  /** `post_tool_call`. */
  afterToolCall(info: ToolInfo, args: JsonObject, trace: RewriteTrace, result: ToolResult): Promise<void>
  /** `transform_tool_result`. */
  transformToolResult(info: ToolInfo, args: JsonObject, result: ToolResult): Promise<string>

  // Sub-agent; `parent` is the turn that started it
  /** `subagent_start`. */
  onSubagentStart(parent: TurnInfo, child: SubagentInfo): void
  /** `subagent_stop`. */
  onSubagentStop(parent: TurnInfo, child: SubagentInfo, end: SubagentEndInfo): void
}

export interface SubagentInfo {
  readonly sessionId: string
  readonly subagentId: string
  readonly role: SubagentRole
  readonly goal: string
  /** 1 for a sub-agent of a turn, 2 for a sub-agent of that one ... */
  readonly depth: number
}

export interface RunningSubagent {
  readonly id: string
  readonly info: SubagentInfo
  readonly turn: TurnInfo
  /** ms */
  readonly startedAt: number
  /** The tool that runs now; undefined while the model works. */
  tool(): string | undefined
  /** The usage of its model calls and of its sub-agents. */
  usage(): Usage
  /** Ends it together with its sub-agents. Its parent goes on. */
  stop(): void
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
  /** In the format of OpenAI. Built only when called. */
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
  /** `stop`, `max_iterations`, `interrupted`, `overtaken`, `error: ...` */
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

const resolved = Promise.resolve()
const noop = () => undefined

/** The hooks without plugins: no hook observes or changes anything. */
export const noopAgentHooks: AgentHooks = {
  onSessionStart: () => resolved,
  collectContext: async () => '',
  transformOutput: async (_turn, text) => text,
  onTurnResponse: () => resolved,
  onTurnEnd: () => resolved,
  outputMayChange: () => false,
  filterTools: async (_turn, tools) => tools,
  rewriteRequest: async (_info, request) => request,
  onRequestStart: noop,
  onRequestEnd: noop,
  onRequestError: noop,
  reissue: async () => null,
  onStreamStart: noop,
  onStreamDelta: noop,
  onStreamEnd: noop,
  beforeToolCall: async (_info, args) => ({ kind: 'run', args }),
  afterToolCall: () => resolved,
  transformToolResult: async (_info, _args, { result }) => result,
  onSubagentStart: noop,
  onSubagentStop: noop,
}

type ProviderInfo = Pick<TurnInfo, 'baseUrl' | 'apiMode'> & { readonly name: string }

export type TurnInfoFactory = (
  turn: Pick<Turn, 'id' | 'sessionId' | 'sessionKey' | 'event' | 'authority'>,
  chosen: { readonly model: string; readonly provider: ProviderInfo },
) => TurnInfo

/** @param routeOf `<platform>_<chat_type>`, or the route of a background task; '' on the command line. */
export function createTurnInfoFactory(routeOf: (event: MessageEvent) => string): TurnInfoFactory {
  return ({ id, sessionId, sessionKey, event, authority }, { provider, model }) => ({
    sessionId,
    sessionKey,
    turnId: id,
    taskId: event.task?.id ?? sessionId,
    platform: event.source.platform,
    route: routeOf(event),
    senderId: event.source.userId ?? '',
    role: authority.role,
    causedBy: authority.userId === undefined ? undefined : `${authority.platform}:${authority.userId}`,
    parentSessionId: event.task?.delegation?.sessionId ?? '',
    ...(event.task?.delegation && subagentFieldsOf(event.task.delegation, sessionId)),
    model,
    provider: provider.name,
    baseUrl: provider.baseUrl,
    apiMode: provider.apiMode,
  })
}

/** What a sub-agent in the background uses counts for the turn that has started it, too. */
function subagentFieldsOf(
  { turnId: rootTurnId, subagentId, role, depth, goal }: BackgroundDelegation,
  sessionId: string,
): Pick<TurnInfo, 'rootTurnId' | 'subagent'> {
  return { rootTurnId, subagent: { sessionId, subagentId, role, depth, goal } }
}
