/**
 * The tables as Kysely sees them. Portable by rule (both SQLite and PostgreSQL): booleans are 0/1, times are integer
 * milliseconds, JSON is text written and parsed in code. The statements that create them are in `migrations/`.
 */
import type { Generated } from 'kysely'

export interface Database {
  /** One row per session key: which session it is in now, and the fence of its turns. */
  lanes: {
    session_key: string
    session_id: string
    /** Grows with every claim and reset; a write that carries an older one is refused. */
    epoch: number
    /** 1 until the first turn of the session has begun. */
    fresh: number
    /** `SessionSource` of the newest event, JSON. */
    source: string
    updated_at: number
  }
  /** One row per life of a conversation. */
  sessions: {
    id: string
    session_key: string
    platform: string
    user_id: string
    title: string
    parent_id: string | null
    created_at: number
    updated_at: number
    ended_at: number | null
    end_reason: string | null
    input_tokens: Generated<number>
    output_tokens: Generated<number>
  }
  inbox: {
    seq: Generated<number>
    session_key: string
    lane: 'turn' | 'control'
    kind: string
    platform: string
    account: string
    chat_id: string
    /** `MessageEvent`, JSON. */
    payload: string
    state: InboxState
    turn_id: string | null
    tries: Generated<number>
    available_at: number
    accepted_at: number
    /** The last error, for people. */
    reason: string | null
    /** `TurnOutcome`, JSON, once it has ended. */
    outcome: string | null
  }
  /** Every name under which an event is known; the first one is its own. */
  inbox_keys: { key: string; seq: number }
  turns: {
    id: string
    session_key: string
    session_id: string
    epoch: number
    state: TurnState
    stop_requested: Generated<number>
    /** `SessionSource` of the event that began it, JSON. */
    origin: string
    /** Who may approve for it; the user id until approvals exist. */
    authority: string
    route: string
    reason: string | null
    model: Generated<string>
    provider: Generated<string>
    started_at: number
    ended_at: number | null
  }
  turn_inputs: { turn_id: string; seq: number; how: 'head' | 'merged' | 'steered' }
  messages: {
    id: Generated<number>
    session_id: string
    turn_id: string | null
    /** Place within the session. */
    ord: number
    role: 'user' | 'assistant' | 'tool'
    /** At most 64 kB; a longer text is whole in `texts`. */
    content: string
    text_id: number | null
    /** JSON of the assistant's tool calls. */
    tool_calls: string | null
    tool_call_id: string | null
    tool_name: string | null
    /** What the provider wants back, JSON. */
    provider_data: string | null
    usage: string | null
    /** 0: the model reads it. n: the nth compression of its session took its place. -1: its turn was set aside. */
    superseded: Generated<number>
    /** 1: written by a compression, in the place of the lines before it. */
    is_summary: Generated<number>
    created_at: number
  }
  /** Texts above 64 kB, so that the rows people list and search stay small. */
  texts: { id: Generated<number>; body: string }
  /** The frozen system prompt of a session: never among messages, never searched. */
  prompts: { session_id: string; text: string }
  tool_calls: {
    turn_id: string
    call_id: string
    name: string
    args_hash: string
    mode: 'pure' | 'idempotent' | 'effect'
    state: 'started' | 'done' | 'interrupted'
    result: string | null
    /** What arrived after the turn had gone on without it. */
    late_result: string | null
    started_at: number
    ended_at: number | null
  }
  grants: { id: Generated<number>; scope: string; rule: string; granted_by: string; created_at: number }
  outbox: {
    id: Generated<number>
    /** `<turn>:<part>` or another name unique for ever. */
    key: string
    platform: string
    account: string
    chat_id: string
    thread_id: string
    session_key: string | null
    turn_id: string | null
    kind: 'reply' | 'notice'
    op: 'send' | 'edit'
    /** The platform's id of the message an edit replaces. */
    target: string | null
    text: string
    reply_to: string | null
    state: OutboxState
    /** 1: an earlier try may have reached the platform, so the next one must not be silent. */
    doubt: Generated<number>
    tries: Generated<number>
    due_at: number
    platform_id: string | null
    error: string | null
    /** The file that goes out, JSON. */
    attachment: string | null
    /** `Button[]`, JSON. */
    buttons: string | null
    created_at: number
    updated_at: number
  }
  /** Addresses of live drafts: where a final answer replaces what people saw growing. */
  drafts: {
    turn_id: string
    part: number
    platform: string
    account: string
    chat_id: string
    platform_id: string
    created_at: number
  }
  /** How far an account has read a place (a chat, or a thread of it). */
  marks: { platform: string; account: string; place: string; last_id: string; updated_at: number }
  /** What people were asked, and what they chose. */
  questions: {
    id: string
    kind: string
    session_key: string
    platform: string
    account: string
    chat_id: string
    /** Whose action waits for the answer. */
    asked_user: string
    /** The ids of the buttons, JSON. */
    choices: string
    /** What happens after the answer, JSON. */
    payload: string
    state: 'waiting' | 'answered' | 'expired'
    answer: string | null
    answered_by: string | null
    /** What was added to the answer in words. */
    reason: string | null
    expires_at: number
    /** When a living process last knew of it: the clock of an approval stands still while there is none. */
    seen_at: number | null
    created_at: number
    answered_at: number | null
  }
  /** What happened to a message, for the question "where is it". */
  trace: {
    id: Generated<number>
    session_key: string
    turn_id: string | null
    event: string
    detail: string
    at: number
  }
}

/** `dead`: a dead letter. Its attempts are used up, and it waits for a user's decision. */
export type InboxState = 'queued' | 'claimed' | 'done' | 'dead' | 'dropped'
export type TurnState = 'running' | 'waiting' | 'done' | 'failed' | 'stopped'
/** `unknown`: the platform may have received it. `dead`: a dead letter, as in the inbox. */
export type OutboxState = 'queued' | 'sending' | 'sent' | 'unknown' | 'dead' | 'dropped'
