/**
 * The typed map of plugin hooks: when each hook is called, the payload of its callbacks, and the results that it accepts
 * (seed 001, seed 003, `contract/hermes.md` §2.6). Callbacks in Python receive the same keys.
 */

import type { ApiMode } from '../agent/models/provider.ts'
import type { WireRequest, WireResponse } from '../agent/models/wire-types.ts'
import type { Role } from '../message/authority.ts'
import type { RewriteTrace } from '../middleware/managed-call.ts'

type Json = Readonly<Record<string, unknown>>

/** Keys of all payloads. */
export interface HookEnvelope {
  /** Absent in `gateway_platform_event`. */
  readonly telemetry_schema_version: 'hermes.observer.v1'
  /** `<platform>_<chat_type>`; '' on the command line (seed 003). */
  readonly route: string
}

/** One message of a conversation in the format of OpenAI. */
export type HistoryMessage = Json

interface TurnKeys {
  readonly session_id: string
  /** The id of the session outside of background tasks. */
  readonly task_id: string
  readonly turn_id: string
  readonly model: string
  /** `cli` on the command line. */
  readonly platform: string
}

interface ToolKeys {
  readonly tool_name: string
  /** Effective arguments. */
  readonly args: Json
  readonly task_id: string
  readonly session_id: string
  readonly tool_call_id: string
  readonly turn_id: string
  /** The id of the model call that requested the tool. */
  readonly api_request_id: string
  /** The role of the person who caused the turn. */
  readonly role: Role
}

interface RequestKeys extends TurnKeys {
  readonly api_request_id: string
  readonly provider: string
  readonly base_url: string
  /** The format of the request and of the response: `chat_completions`, `anthropic_messages`, `codex_responses`. */
  readonly api_mode: string
  /** Model calls of this turn, including this one. */
  readonly api_call_count: number
  /** Attempts of this call before this one. */
  readonly retry_count: number
}

interface StreamKeys {
  readonly session_id: string
  readonly turn_id: string
  /** From 1. */
  readonly iteration: number
  readonly model: string
  readonly provider: string
  readonly surface: string
}

interface ApprovalKeys {
  readonly command: string
  readonly description: string
  readonly pattern_key: string
  readonly pattern_keys: readonly string[]
  readonly session_key: string
  readonly surface: 'cli' | 'gateway'
  readonly turn_id: string
  readonly tool_call_id: string
}

interface SubagentKeys {
  readonly parent_session_id: string
  readonly parent_turn_id: string
  readonly child_session_id: string
  readonly child_role: string
}

/** The payloads of callbacks, by hook. */
export interface HookPayloads {
  /** Before a tool runs, with its effective arguments. */
  readonly pre_tool_call: ToolKeys & { readonly middleware_trace: RewriteTrace }
  /** After a tool call, including failed and blocked calls. */
  readonly post_tool_call: ToolKeys & {
    readonly middleware_trace: RewriteTrace
    /** Always a text; `{"error": …}` for a failure. */
    readonly result: string
    readonly duration_ms: number
    readonly status: 'ok' | 'error' | 'blocked'
    readonly error_type: string | null
    readonly error_message: string | null
  }
  /** Before the result of a tool is added to the conversation. */
  readonly transform_tool_result: ToolKeys & {
    readonly result: string
    readonly duration_ms: number
    readonly status: 'ok' | 'error' | 'blocked'
    readonly error_type: string | null
    readonly error_message: string | null
  }
  /** Once per turn, before its first model call. */
  readonly pre_llm_call: TurnKeys & {
    readonly user_message: string
    readonly conversation_history: readonly HistoryMessage[]
    readonly is_first_turn: boolean
    readonly parent_session_id: string
    readonly sender_id: string
    /** The role of the person who caused the turn. */
    readonly role: Role
  }
  /** Once per turn that ended with a response and was not interrupted. */
  readonly post_llm_call: TurnKeys & {
    readonly user_message: string
    readonly assistant_response: string
    readonly conversation_history: readonly HistoryMessage[]
  }
  /** The response of a turn, before it is stored and delivered. */
  readonly transform_llm_output: {
    readonly response_text: string
    readonly session_id: string
    readonly model: string
    readonly platform: string
  }
  /** The first turn of a new session, after its system prompt was created. */
  readonly on_session_start: { readonly session_id: string; readonly model: string; readonly platform: string }
  /** The end of every turn with any result; also when the command line exits during a turn. */
  readonly on_session_end: TurnKeys & {
    readonly completed: boolean
    readonly failed: boolean
    readonly interrupted: boolean
    readonly turn_exit_reason: string
  }
  /** The end of a session: after `/new`, or when the gateway stops. */
  readonly on_session_finalize: {
    readonly session_id: string | null
    readonly platform: string
    readonly reason: string
    readonly old_session_id: string | null
    readonly new_session_id: string | null
  }
  /** A new session replaced another one; after `on_session_finalize`. */
  readonly on_session_reset: {
    readonly session_id: string
    readonly platform: string
    readonly reason: string
    readonly old_session_id: string | null
    readonly new_session_id: string
  }
  /** Before each attempt of a model call, with the final request. Only observes. */
  readonly pre_api_request: RequestKeys & { readonly request: Json; readonly middleware_trace: RewriteTrace }
  /** After a successful attempt. For a reissued iteration, only the last one. */
  readonly post_api_request: RequestKeys & {
    readonly request: Json
    readonly response: Json
    readonly usage: Json
    readonly finish_reason: string
    readonly duration_ms: number
    readonly middleware_trace: RewriteTrace
  }
  /** After a failed attempt. An abort is not a failure. */
  readonly api_request_error: RequestKeys & {
    readonly request: Json
    readonly status_code: number | null
    readonly retryable: boolean
    readonly reason: string
    readonly error: string
    readonly error_type: string
    readonly duration_ms: number
    readonly middleware_trace: RewriteTrace
  }
  /** Seed 003: the request before it is sent. The result replaces keys of the request. */
  readonly pre_api_request_mutable: RequestKeys & { readonly request: Json }
  /** Seed 003: the tools of this model call. */
  readonly pre_tool_list_finalized: TurnKeys & { readonly tools: readonly Json[]; readonly provider: string }
  /** Seed 003: the response of an iteration, which may be requested once more. */
  readonly post_llm_call_can_reissue: {
    readonly session_id: string
    readonly turn_id: string
    readonly iteration: number
    readonly model: string
    readonly provider: string
    readonly api_mode: string
    readonly request: Json
    readonly response: Json
    readonly platform: string
  }
  /** The model starts to respond. */
  readonly on_stream_start: StreamKeys
  /** A chunk of the text or of the reasoning. */
  readonly on_stream_delta: StreamKeys & { readonly delta: string; readonly kind: 'text' | 'reasoning' }
  /** The stream ended, with or without an error. */
  readonly on_stream_end: StreamKeys & {
    readonly final_text: string
    readonly finished: boolean
    readonly error: string | null
  }
  /**
   * A message was received, before access is checked. `/stop`, `/approve` and `/deny` do not wait for the hook, and it does
   * not decide about them.
   */
  readonly pre_gateway_dispatch: {
    readonly event: Json
    /** Null if the message has no session yet. */
    readonly session_key: string | null
    /** The role of a sender who has access; null for any other. */
    readonly role: Role | null
  }
  /** A reaction, an edit or a deletion, after access was checked. */
  readonly gateway_platform_event: { readonly platform: string; readonly event_type: string; readonly payload: Json }
  /** A known slash command, before it runs. Only observes. */
  readonly pre_command: {
    readonly surface: 'cli' | 'gateway'
    readonly command: string
    readonly alias_used: string
    readonly args_raw: string
    readonly session_key: string
    readonly platform: string
  }
  /** A user is asked for an approval. Only observes. */
  readonly pre_approval_request: ApprovalKeys
  /** The user decided, or the request timed out. */
  readonly post_approval_response: ApprovalKeys & {
    readonly choice: 'once' | 'session' | 'always' | 'deny' | 'timeout' | 'cancelled'
    readonly decided_by: string
  }
  /** A sub-agent starts. */
  readonly subagent_start: SubagentKeys & {
    readonly parent_subagent_id: string | null
    readonly child_subagent_id: string
    readonly child_goal: string
  }
  /**
   * A sub-agent ended, or in the background one attempt of it: after a stop of the gateway, a pause or an outage of the model,
   * it goes on with another `subagent_start`.
   */
  readonly subagent_stop: SubagentKeys & {
    readonly child_summary: string
    readonly child_status: 'completed' | 'failed' | 'interrupted' | 'error'
    readonly tool_call_history: readonly Json[]
    readonly duration_ms: number
  }
}

/** The accepted results. Null, undefined and values of another shape are ignored. */
export interface HookReturns {
  /**
   * `modify` merges into the arguments, later keys take precedence; `block` rejects the call with the message; `approve`
   * requests an approval. A block takes precedence over all other results.
   */
  readonly pre_tool_call:
    | { readonly action: 'block'; readonly message: string }
    | { readonly action: 'approve'; readonly message?: string; readonly rule_key?: string }
    | { readonly action: 'modify'; readonly args: Json }
  /** The first text replaces the result. */
  readonly transform_tool_result: string
  /** All texts, ordered by plugin and joined by blank lines, are added to the user's message for this turn only. */
  readonly pre_llm_call: string | { readonly context: string }
  /** The first non-empty text replaces the response. */
  readonly transform_llm_output: string
  /** Merged in the order of registration. */
  readonly pre_api_request_mutable: { readonly override: Json }
  /** The first list is used, for this call only. */
  readonly pre_tool_list_finalized: { readonly override: readonly Json[] }
  /** The first override is merged into the request; at most one reissue per iteration. */
  readonly post_llm_call_can_reissue: { readonly override: Json }
  /** The first valid result is used. */
  readonly pre_gateway_dispatch:
    | { readonly action: 'skip'; readonly reason?: string }
    | { readonly action: 'rewrite'; readonly text: string }
    | { readonly action: 'allow' }
}

export type HookName = keyof HookPayloads

/** A payload with a request: `api_mode` tells the types of the request and of the response. */
type TypedByApiMode<Payload> = {
  [Mode in ApiMode]: Omit<Payload, 'api_mode' | 'request' | 'response'> & {
    readonly api_mode: Mode
    readonly request: WireRequest<Mode>
  } & (Payload extends { readonly response: Json } ? { readonly response: WireResponse<Mode> } : unknown)
}[ApiMode]

/** The argument of a callback: one object (in Python: keyword arguments). */
export type HookPayload<Name extends HookName> = (HookPayloads[Name] extends { readonly request: Json }
  ? TypedByApiMode<HookPayloads[Name]>
  : HookPayloads[Name]) &
  (Name extends 'gateway_platform_event' ? Pick<HookEnvelope, 'route'> : HookEnvelope)

/**
 * The result of a callback. Ignored results are not `unknown`: `unknown` would become the constraint of the type, and the
 * literal in `{ action: 'block' }` would be widened to `string`.
 */
export type HookReturn<Name extends HookName> = Name extends keyof HookReturns
  ? HookReturns[Name]
  : NonNullable<unknown>

export type HookCallback<Name extends HookName> = (
  payload: HookPayload<Name>,
  // biome-ignore lint/suspicious/noConfusingVoidType: callbacks that only watch return nothing
) => HookReturn<Name> | null | undefined | void | Promise<HookReturn<Name> | null | undefined | void>
