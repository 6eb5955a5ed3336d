/**
 * What commands do with the session of their conversation: read it, stop its turn, replace it, compress it, answer its questions.
 */

import type { Spent } from '../lib/format-cost.ts'
import type { SessionId, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { TransactionPart } from '../store/query.ts'
import type { CommandContext } from './command.ts'
import type { TaskServices } from './tasks.ts'

/** For `/stop`. */
export interface StopControl {
  /**
   * Stops the running turn of a session. Resolves when it has ended, or after five seconds. A guest stops only turns that
   * their own message began, where several people share the conversation.
   */
  stopTurn(key: SessionKey, by: Pick<CommandContext, 'source' | 'authority'>): Promise<StopOutcome>
  tasks(): Promise<TaskServices>
}

/** `of-another`: another person's message began the turn, and the requester may not stop it. */
export type StopOutcome = 'stopped' | 'idle' | 'of-another'

/** For `/new`. */
export interface SessionReset {
  /** Stops the running turn and starts a new session under the same key, in which queued messages are handled. */
  reset(key: SessionKey, source: SessionSource, title: string): Promise<SessionId>
  /** Takes known secrets out of a text, as replies do. */
  withhold(text: string): string
}

/** For `/compress`. */
export interface SessionCompressor {
  status(key: SessionKey): Promise<SessionStatus>
  /** Queues a compression of the session; its turn reports the result. `says` is the reply until then. */
  compress(key: SessionKey, source: SessionSource, order: CompressionOrder): TransactionPart<string>
}

export interface CompressionOrder {
  readonly focus: string
  readonly says: string
}

/** For `/approve` and `/deny`. */
export interface TypedAnswers {
  /** Answers the oldest pending question of the session, or all (contract §3.9); the text is the reply. */
  answerTyped(sessionKey: SessionKey, answer: TypedAnswer): TransactionPart<string>
}

export interface TypedAnswer {
  /** The canonical answer: `approve`, `approve always`, `deny`. */
  readonly words: string
  /** Answers all pending questions, not only the oldest. */
  readonly all: boolean
  /** The reason that the requester receives; '' for none. */
  readonly reason: string
  readonly by: SessionSource
}

/** For `/yolo`. */
export interface YoloSwitch {
  /** Switches `/yolo` of a conversation on or off, and begins it if it has not begun. Returns whether it is on now. */
  toggle(key: SessionKey, by: SessionSource): Promise<boolean>
}

export interface SessionStatus {
  readonly sessionId: SessionId | null
  readonly title: string
  readonly startedAt: number | null
  readonly messages: number
  readonly running: boolean
  readonly queued: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly spent: Spent
}
