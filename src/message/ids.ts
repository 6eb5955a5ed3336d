/**
 * The ids that travel with a message.
 */
import type { Brand } from '../lib/brand.ts'

/** Finds a conversation: `agent:main:telegram:dm:42` (contract §3.3). */
export type SessionKey = Brand<'SessionKey'>
/** One life of a conversation: `YYYYMMDD_HHMMSS_<8 hex>`. */
export type SessionId = Brand<'SessionId'>
/** One turn, a uuid v7. */
export type TurnId = Brand<'TurnId'>
/** The platform's own name for an event, unique for ever: `tg:<bot>:<update_id>`. The inbox dedupes on it. */
export type EventKey = Brand<'EventKey'>
