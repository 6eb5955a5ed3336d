/**
 * The branded ids of messages, sessions and turns, and the queues of a session.
 */
import type { Brand } from '../lib/ids.ts'

/** Identifies a conversation: `agent:main:telegram:dm:42` (contract §3.3). */
export type SessionKey = Brand<'SessionKey'>
/** One session of a conversation, from a reset to the next: `YYYYMMDD_HHMMSS_<8 hex>`. */
export type SessionId = Brand<'SessionId'>
/** One turn, a uuid v7. */
export type TurnId = Brand<'TurnId'>
/** The permanent unique id of an event: `tg:<bot>:<update_id>`. The inbox deduplicates by it. */
export type EventKey = Brand<'EventKey'>
/** `turn`: one at a time per session, in order. `control`: commands that do not wait for a turn. */
export type QueueKind = 'turn' | 'control'
