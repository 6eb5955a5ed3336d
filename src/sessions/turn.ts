/**
 * A turn that is claimed and may run.
 */
import type { Authority } from '../message/authority.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionId, SessionKey, TurnId } from '../message/ids.ts'
import type { ResetReason } from './reset-policy.ts'
import type { Fence, SessionSettings } from './session-state.ts'
import type { StoredResponses, TranscriptEntry } from './transcript.ts'

export interface Turn {
  readonly id: TurnId
  readonly seq: number
  readonly sessionKey: SessionKey
  readonly sessionId: SessionId
  readonly fence: Fence
  readonly event: MessageEvent
  /** The person who caused the turn, and what that person may cause. */
  readonly authority: Authority
  /** The first turn of its session. */
  readonly firstOfSession: boolean
  /** Why this message began a new session by itself; absent for all others. */
  readonly resetReason?: ResetReason
  /** An earlier attempt was interrupted by a stop or a crash. */
  readonly resumed: boolean
  /** Earlier attempts are counted against the turn (inbox/attempts.ts). Progress resets the count. */
  readonly hasFailedAttempts: boolean
  /** When the provider of the model stopped answering this turn, ms; null while it answers. */
  readonly outageSince: number | null
  /** The tokens of the stored responses of an interrupted turn, input and output together. */
  readonly usedTokens?: number
  /** The responses that an interrupted turn has stored. */
  readonly storedResponses?: StoredResponses
  /** What people have chosen for this conversation. */
  readonly settings: SessionSettings
  /** The frozen system prompt; undefined in a new session. */
  readonly systemPrompt: string | undefined
  /** The names of the tools that the session is offered. Undefined in a new session, and in one of an earlier version. */
  readonly toolNames?: readonly string[] | undefined
  /** The conversation so far. The messages of this turn come last. */
  readonly transcript: readonly TranscriptEntry[]
}
