/**
 * What happens to a message after it was written: edits, deletions, reactions. They are events of their own, and none of
 * them ever rewrites what the agent has read already.
 */
import type { MessageEvent } from './event.ts'
import type { EventKey } from './ids.ts'
import type { SessionSource } from './source.ts'

export type MessageChange =
  | {
      /** A person changed the words. Link previews and edits that leave the text as it was are none. */
      readonly kind: 'edited'
      /** A name of the message that was edited, as it was handed in with it. */
      readonly of: EventKey
      /** The message as it reads now. */
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
  /** Who reacted, and where. */
  readonly source: SessionSource
  readonly added: boolean
  /** The emoji itself, or the platform's name of it (`thumbsup`). */
  readonly reaction: string
  readonly messageId: string
  /** Whose message it is, where the platform says. */
  readonly itemUserId?: string
  readonly timestamp: number
  /** What the platform sent, for hooks. */
  readonly raw: Readonly<Record<string, unknown>>
}

/** Somebody pressed a button of a message of ours. */
export interface ButtonPress {
  readonly source: SessionSource
  readonly buttonId: string
  /** The message that carries the button. */
  readonly messageId: string
}
