/**
 * The types of the tables for Kysely. All columns are portable between SQLite and PostgreSQL: booleans are 0 or 1, times are
 * integer milliseconds, and JSON is text. The statements that create the tables are in `migrations/`.
 */
import type { Generated } from 'kysely'

export interface Database {
  /** The state of a session key: its current session, and the epoch that fences its turns. */
  lanes: {
    session_key: string
    session_id: string
    /** Increases with every claim and reset; a write with an older epoch is refused. */
    epoch: number
    /** 1 until the first turn of the session has begun. */
    fresh: number
    /** `SessionSource` of the newest event, JSON. */
    source: string
    updated_at: number
  }
  /** What a person has chosen for a conversation (`sessions/session-settings.ts`). */
  session_settings: {
    session_key: string
    /** JSON object: name → value, both strings. */
    settings: string
  }
  /** One row per session of a conversation. */
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
    /** US dollars. */
    cost: Generated<number>
    priced_tokens: Generated<number>
    /** 1: a title was asked for. */
    title_tried: Generated<number>
    /** 1: at the top of the list. */
    pinned: Generated<number>
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
    /** Failed attempts in a row: errors, and crashes that only this event can have caused. Progress resets it. */
    tries: Generated<number>
    /** Crashes in a row during which other events were processed, too. Progress resets it. */
    crashes: Generated<number>
    /** All crashes that only this event can have caused. Progress does not reset it. */
    own_crashes: Generated<number>
    /**
     * 1 while the event is being processed, so that the next start finds what a crash interrupted. 2 from the moment that the
     * gateway stops until the event is claimed again.
     */
    attempt_open: Generated<number>
    /** An interrupted turn is not continued before this time, ms. */
    available_at: number
    accepted_at: number
    /** The last error, for people. */
    reason: string | null
    /** `TurnResult`, JSON, once it has ended. */
    outcome: string | null
    /** How a message was accepted while its conversation was busy; null for one that found it idle. */
    busy_mode: Generated<BusyMode | null>
    /** 1: it belongs to the turn of the message before it, if that waits as well. */
    joins: Generated<number>
  }
  /** The keys by which an event is recognised; the first one is its own. */
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
    /** The user who may approve tool calls of the turn. */
    authority: string
    route: string
    reason: string | null
    model: Generated<string>
    provider: Generated<string>
    started_at: number
    ended_at: number | null
    /** When the provider of the model stopped answering this turn, ms; null while it answers. */
    outage_since: Generated<number | null>
    /** The number of the message that ended the turn early. */
    interrupted_by: Generated<number | null>
  }
  turn_inputs: { turn_id: string; seq: number; how: 'head' | 'merged' | 'steered' }
  messages: {
    id: Generated<number>
    session_id: string
    turn_id: string | null
    /** The ordinal within the session. */
    ord: number
    role: 'user' | 'assistant' | 'tool'
    /** At most 64 kB; a longer text is stored in `texts`. */
    content: string
    text_id: number | null
    /** JSON of the assistant's tool calls. */
    tool_calls: string | null
    tool_call_id: string | null
    tool_name: string | null
    /** Data that the provider requires in later requests, JSON. */
    provider_data: string | null
    usage: string | null
    /** 0: the model reads it. n: replaced by the nth compression of its session. -1: excluded with its failed turn. -2: taken back by a person. */
    superseded: Generated<number>
    /** 1: a summary that replaces the messages before it. */
    is_summary: Generated<number>
    created_at: number
    /** The pictures of the message, JSON: `ImagePart[]`. */
    images: string | null
  }
  /** Texts above 64 kB, so that the rows people list and search stay small. */
  texts: { id: Generated<number>; body: string }
  /** The frozen system prompt of a session, which is not a message and not searched. */
  prompts: { session_id: string; text: string; tools: string | null }
  tool_calls: {
    turn_id: string
    call_id: string
    name: string
    args_hash: string
    mode: 'pure' | 'idempotent' | 'effect'
    state: 'started' | 'done' | 'interrupted'
    /** JSON of what people read of the call (`ok`, `label`, `summary`). Null for a call without a result, and in rows of earlier versions. */
    result: string | null
    /** A result that arrived after the turn had continued without it. */
    late_result: string | null
    started_at: number
    ended_at: number | null
  }
  grants: { id: Generated<number>; scope: string; rule: string; granted_by: string; created_at: number }
  auxiliary_calls: {
    id: Generated<number>
    session_id: string
    turn_id: string | null
    task: string
    provider: string
    model: string
    /** `Usage`, JSON. */
    usage: string
    created_at: number
  }
  outbox: {
    id: Generated<number>
    /** `<turn>:<part>` or another key that is never used twice. */
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
    /** 1: an earlier try may have reached the platform, so the next one needs a label. */
    doubt: Generated<number>
    tries: Generated<number>
    due_at: number
    platform_id: string | null
    error: string | null
    /** The file that goes out, JSON. */
    attachment: string | null
    /** `Button[]`, JSON. */
    buttons: string | null
    /** The delivery id of the call that sends a file; see `outbox/albums.ts`. */
    album: string | null
    created_at: number
    updated_at: number
  }
  /** The addresses of live drafts, which the final replies replace. */
  drafts: {
    turn_id: string
    part: number
    platform: string
    account: string
    chat_id: string
    platform_id: string
    created_at: number
  }
  /** The chats for messages that belong to no other chat, as people have chosen them with a command. */
  home_channels: {
    platform: string
    account: string
    chat_id: string
    thread_id: string
    name: string
    updated_at: number
  }
  /** Chats that no longer take messages; see `outbox/dead-targets.ts`. */
  dead_targets: {
    platform: string
    account: string
    chat_id: string
    /** What the platform answered. */
    reason: string
    /** The newest rows of inbox and outbox at that time. */
    last_seq: number
    last_outbox: number
    since: number
  }
  /** Restarts that were asked for and are not reported yet. */
  restart_requests: {
    id: Generated<number>
    /** The chat that asked (`Target`, JSON); null for a signal. */
    target: string | null
    requested_at: number
  }
  /** Read cursors: how far an account has read a chat or thread (`place`). */
  marks: { platform: string; account: string; place: string; last_id: string; updated_at: number }
  /** Questions to users, and their answers. */
  questions: {
    id: string
    kind: string
    session_key: string
    platform: string
    account: string
    chat_id: string
    /** The user whose action waits for the answer. */
    asked_user: string
    /** The ids of the buttons, JSON. */
    choices: string
    /** What happens after the answer, JSON. */
    payload: string
    state: 'waiting' | 'answered' | 'expired'
    answer: string | null
    answered_by: string | null
    /** The text that the user added to the answer. */
    reason: string | null
    expires_at: number
    /** When a running process last saw it: the time limit of an approval stops while no process runs. */
    seen_at: number | null
    created_at: number
    answered_at: number | null
  }
  /** Events in the processing of a message that no other table records. */
  trace: {
    id: Generated<number>
    session_key: string
    turn_id: string | null
    event: string
    detail: string
    at: number
  }
  /** Scheduled jobs (`cron/job-store.ts`). */
  cron_jobs: {
    id: string
    /** The fields of `cron/jobs.json`, JSON. */
    record: string
    /** `Authority` of the person who made it, JSON. */
    authority: string
    /** `<platform>:<user id>` of that person; '' for one without an id. */
    maker: string
    /** Lower case. */
    name: string
    /** When a completed job has run last; null for another one. */
    ended_at: number | null
    next_run_at: number | null
    /** The scheduled time of the run that has not ended; null without one. */
    slot: number | null
    /** Its event, once that is stored. */
    seq: number | null
    /** 1: its script was started. */
    script: number | null
  }
  /** What adapters have received and work on later (`inbox/deferred-deliveries.ts`). */
  deferred_deliveries: {
    key: string
    platform: string
    group_key: string
    /** The body that the adapter received; '' once it is done. */
    body: string
    received_at: number
    done_at: number | null
  }
  /** One row: what was written into `cron/jobs.json` last (`cron/jobs-file.ts`). */
  cron_file: { id: number; written: string }
  /** What adapters keep (`flows/platform-records.ts`). */
  platform_records: {
    id: Generated<number>
    platform: string
    account: string
    key: string
    /** JSON. */
    value: string
    updated_at: number
  }
}

/** `dead`: a dead letter. Its attempts are used up, and it waits for a user's decision. */
export type InboxState = 'queued' | 'claimed' | 'done' | 'dead' | 'dropped'
export type TurnState = 'running' | 'waiting' | 'done' | 'failed' | 'stopped' | 'interrupted'
/**
 * The first four are the values of `display.busy_input_mode`. `media`: files, which wait for the files that follow them.
 * `refused`: the queue was full, and the sender has not been told yet.
 */
export type BusyMode = 'interrupt' | 'queue' | 'steer' | 'collect' | 'media' | 'refused'
/** `unknown`: the platform may have received it. `dead`: a dead letter, as in the inbox. */
export type OutboxState = 'queued' | 'sending' | 'sent' | 'unknown' | 'dead' | 'dropped'
