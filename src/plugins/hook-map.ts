/**
 * The typed map of plugin hooks: when each fires, what its callbacks get, and what of their answers counts
 * (seed 001, seed 003, `contract/hermes.md` §2.6). Keys are the contract's own: callbacks in Python read the same ones.
 */
import type { RewriteTrace } from '../middleware/contract.ts'

type Json = Readonly<Record<string, unknown>>

/** Every payload carries these beside its own keys. */
export interface HookEnvelope {
  /** Not in `gateway_platform_event`. */
  readonly telemetry_schema_version: 'hermes.observer.v1'
  /** `<platform>_<chat_type>`; '' on the command line (seed 003). */
  readonly route: string
}

/** One message of the OpenAI format, as callbacks see a conversation. */
export type HistoryMessage = Json

interface TurnKeys {
  readonly session_id: string
  /** The session's id where no task runs. */
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
  /** Of the model call that asked for the tool. */
  readonly api_request_id: string
}

interface RequestKeys extends TurnKeys {
  readonly api_request_id: string
  readonly provider: string
  readonly base_url: string
  readonly api_mode: string
  /** Model calls of this turn so far, this one included. */
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

/** What callbacks get, by hook. */
export interface HookPayloads {
  /** Before a tool runs, on its effective arguments. */
  readonly pre_tool_call: ToolKeys & { readonly middleware_trace: RewriteTrace }
  /** After a tool, also one that failed or was blocked. */
  readonly post_tool_call: ToolKeys & {
    readonly middleware_trace: RewriteTrace
    /** Always a text; of a failure `{"error": …}`. */
    readonly result: string
    readonly duration_ms: number
    readonly status: 'ok' | 'error' | 'blocked'
    readonly error_type: string | null
    readonly error_message: string | null
  }
  /** Before the result of a tool reaches the conversation. */
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
  }
  /** Once per turn that ended with an answer and was not interrupted. */
  readonly post_llm_call: TurnKeys & {
    readonly user_message: string
    readonly assistant_response: string
    readonly conversation_history: readonly HistoryMessage[]
  }
  /** The answer of a turn, before anybody sees or stores it. */
  readonly transform_llm_output: {
    readonly response_text: string
    readonly session_id: string
    readonly model: string
    readonly platform: string
  }
  /** The first turn of a new session, after its system prompt was made. */
  readonly on_session_start: { readonly session_id: string; readonly model: string; readonly platform: string }
  /** The end of every turn, whatever it came to; also when the command line is left in the middle of one. */
  readonly on_session_end: TurnKeys & {
    readonly completed: boolean
    readonly failed: boolean
    readonly interrupted: boolean
    readonly turn_exit_reason: string
  }
  /** A session is over: `/new`, or the gateway stops. */
  readonly on_session_finalize: {
    readonly session_id: string | null
    readonly platform: string
    readonly reason: string
    readonly old_session_id: string | null
    readonly new_session_id: string | null
  }
  /** A new session has taken the place of one; after its finalize. */
  readonly on_session_reset: {
    readonly session_id: string
    readonly platform: string
    readonly reason: string
    readonly old_session_id: string | null
    readonly new_session_id: string
  }
  /** Before each attempt at a model, with the request that goes out. Watches only. */
  readonly pre_api_request: RequestKeys & { readonly request: Json; readonly middleware_trace: RewriteTrace }
  /** After an attempt that brought an answer; of an iteration that was asked again, the last one alone. */
  readonly post_api_request: RequestKeys & {
    readonly request: Json
    readonly response: Json
    readonly usage: Json
    readonly finish_reason: string
    readonly duration_ms: number
    readonly middleware_trace: RewriteTrace
  }
  /** After an attempt that failed. A stop is no failure. */
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
  /** Seed 003: the request just before it goes out; what is returned replaces keys of it. */
  readonly pre_api_request_mutable: RequestKeys & { readonly request: Json }
  /** Seed 003: which tools this call offers. */
  readonly pre_tool_list_finalized: TurnKeys & { readonly tools: readonly Json[]; readonly provider: string }
  /** Seed 003: the answer of an iteration, which may be asked for once more. */
  readonly post_llm_call_can_reissue: {
    readonly session_id: string
    readonly turn_id: string
    readonly iteration: number
    readonly model: string
    readonly provider: string
    readonly request: Json
    readonly response: Json
    readonly platform: string
  }
  /** A model begins to answer. */
  readonly on_stream_start: StreamKeys
  /** A piece of its text, or of its thoughts. */
  readonly on_stream_delta: StreamKeys & { readonly delta: string; readonly kind: 'text' | 'reasoning' }
  /** It has ended, well or not. */
  readonly on_stream_end: StreamKeys & {
    readonly final_text: string
    readonly finished: boolean
    readonly error: string | null
  }
  /** A message has come, before anybody has asked whether its writer may. */
  readonly pre_gateway_dispatch: {
    readonly event: Json
    /** Its key, or null where it has none yet. */
    readonly session_key: string | null
  }
  /** Somebody reacted, edited or deleted; after access was checked. */
  readonly gateway_platform_event: { readonly platform: string; readonly event_type: string; readonly payload: Json }
  /** A known slash command, before it runs. Watches only. */
  readonly pre_command: {
    readonly surface: 'cli' | 'gateway'
    readonly command: string
    readonly alias_used: string
    readonly args_raw: string
    readonly session_key: string
    readonly platform: string
  }
  /** A person is asked whether something may run. Watches only. */
  readonly pre_approval_request: ApprovalKeys
  /** He has answered, or nobody has in time. */
  readonly post_approval_response: ApprovalKeys & {
    readonly choice: 'once' | 'session' | 'always' | 'deny' | 'timeout' | 'cancelled'
    readonly decided_by: string
  }
  /** An agent begins to work for another one. */
  readonly subagent_start: SubagentKeys & {
    readonly parent_subagent_id: string | null
    readonly child_subagent_id: string
    readonly child_goal: string
  }
  /** It has ended. */
  readonly subagent_stop: SubagentKeys & {
    readonly child_summary: string
    readonly child_status: 'completed' | 'failed' | 'interrupted' | 'error'
    readonly tool_call_history: readonly Json[]
    readonly duration_ms: number
  }
}

/** What of an answer counts; null, undefined and anything of another shape counts as no answer. */
export interface HookReturns {
  /**
   * `modify` merges into the arguments, later keys win; `block` refuses with the message; `approve` asks a person.
   * A block outranks everything.
   */
  readonly pre_tool_call:
    | { readonly action: 'block'; readonly message: string }
    | { readonly action: 'approve'; readonly message?: string; readonly rule_key?: string }
    | { readonly action: 'modify'; readonly args: Json }
  /** The first text replaces the result. */
  readonly transform_tool_result: string
  /** Joined with a blank line, by the plugins' directories, and added to the user's message for this call only. */
  readonly pre_llm_call: string | { readonly context: string }
  /** The first text that is not empty replaces the answer. */
  readonly transform_llm_output: string
  /** Merged from left to right. */
  readonly pre_api_request_mutable: { readonly override: Json }
  /** The first one counts, for this call alone. */
  readonly pre_tool_list_finalized: { readonly override: readonly Json[] }
  /** The first one counts, merged onto the request; at most one reissue per iteration. */
  readonly post_llm_call_can_reissue: { readonly override: Json }
  /** The first one that is understood counts. */
  readonly pre_gateway_dispatch:
    | { readonly action: 'skip'; readonly reason?: string }
    | { readonly action: 'rewrite'; readonly text: string }
    | { readonly action: 'allow' }
}

export type HookName = keyof HookPayloads

/** What a callback gets: one object (in Python: keyword arguments). */
export type HookPayload<Name extends HookName> = HookPayloads[Name] &
  (Name extends 'gateway_platform_event' ? Pick<HookEnvelope, 'route'> : HookEnvelope)

/**
 * What a callback may return. Not `unknown` where it is ignored: that would be the constraint of the whole, and a literal
 * such as `{ action: 'block' }` would become a text before anybody knows which hook it is for.
 */
export type HookReturn<Name extends HookName> = Name extends keyof HookReturns
  ? HookReturns[Name]
  : NonNullable<unknown>

export type HookCallback<Name extends HookName> = (
  payload: HookPayload<Name>,
  // biome-ignore lint/suspicious/noConfusingVoidType: callbacks that only watch return nothing
) => HookReturn<Name> | null | undefined | void | Promise<HookReturn<Name> | null | undefined | void>
