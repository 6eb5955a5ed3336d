/**
 * Changes of an existing message: edits, deletions and reactions. They are separate events, and none of them rewrites text
 * that the agent has read.
 */
import type { MessageEvent } from './event.ts'
import type { EventKey } from './ids.ts'
import type { SessionSource } from './source.ts'

export type MessageChange =
  | {
      /** A user changed the text. Link previews and edits without a change of text do not count. */
      readonly kind: 'edited'
      /** An event key of the edited message. */
      readonly of: EventKey
      /** The new version of the message. */
      readonly event: MessageEvent
    }
  | {
      readonly kind: 'deleted'
      readonly of: EventKey
      readonly source: SessionSource
      readonly timestamp: number
    }
  | ReactionChange

/** A reaction to any message of a chat (contract §1.4, `reaction:added` and `reaction:removed`). */
export interface ReactionChange {
  readonly kind: 'reaction'
  /** The user who reacted, and the chat. */
  readonly source: SessionSource
  readonly added: boolean
  /** The emoji, or the platform's name of it (`thumbsup`). */
  readonly reaction: string
  readonly messageId: string
  /** The author of the message, if the platform reports it. */
  readonly itemUserId?: string | undefined
  readonly timestamp: number
  /** The payload of the platform, for hooks. */
  readonly raw: Readonly<Record<string, unknown>>
}

/** A user pressed a button of a message of the gateway. */
export interface ButtonPress {
  readonly source: SessionSource
  readonly buttonId: string
  /** The message that carries the button. Without it the gateway looks for it. */
  readonly messageId?: string | undefined
  /** The reason of a refusal, or the answer to a question of the agent in own words, whichever of its buttons is named. */
  readonly text?: string | undefined
}
