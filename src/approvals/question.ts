/**
 * A question to a user: its text, its choices and the effect of each. Plain data, because the answer may arrive after a
 * restart.
 */
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Button } from '../message/outbound.ts'
import type { SessionSource } from '../message/source.ts'

/** `requester`: the user of `source`, or an owner. `other_owner`: an owner other than that user. */
export type Approver = 'requester' | 'owner' | 'other_owner'

export type QuestionKind = 'slash-confirm' | 'approval' | 'clarify'

export interface Question {
  /** At most 40 letters, digits and `-`, never used twice; generated if omitted. */
  readonly id?: string
  readonly kind: QuestionKind
  readonly sessionKey: SessionKey
  /** The user and the chat of the waiting action. Only this user may answer, or any user in a shared session. */
  readonly source: SessionSource
  /** Markdown, short enough for one message. */
  readonly text: string
  readonly choices: readonly Choice[]
  /** The effect when the question expires. */
  readonly unanswered: Effect
  readonly timeoutMs: number
  /** The platform's id of the message that caused the question. */
  readonly replyTo?: string | undefined
  /** The person who may answer a question about a command; without it `source`, or any user of a shared session. */
  readonly approver?: Approver | undefined
  /** The turn that waits for the answer; by default that of `about`. The question is cancelled when it ends. */
  readonly turnId?: string | undefined
  /** The action that needs approval, for plugins. Only for `approval`. */
  readonly about?: ApprovalSubject | undefined
}

/** The action that a user is asked to allow (contract §2.6, `pre_approval_request`). */
export interface ApprovalSubject {
  /** The shell command, or the tool with its arguments. */
  readonly command: string
  /** The reason of the question. */
  readonly description: string
  /** The rules that require it, in order. */
  readonly patternKeys: readonly string[]
  readonly turnId: string
  readonly toolCallId: string
}

export interface Choice {
  /** At most 16 lower-case letters, digits and `-`, because it is part of the button's id. */
  readonly answer: string
  readonly label: string
  readonly style?: NonNullable<Button['style']>
  /** Commands that users may type instead, without the slash: `approve`, `approve always`, `deny`. */
  readonly typed: readonly string[]
  readonly effect: Effect
}

export interface Effect {
  /** One short line for the user. */
  readonly says: string
  /** Stored as an internal event in the control queue of the session. */
  readonly event?: MessageEvent
  /** Rules that need no further approval in this session. */
  readonly grants?: readonly string[]
  /** Holds what `grants` holds, in questions that version 0.1 stored. */
  readonly grant?: string
  /** The session id with which the grants end; permanent if omitted. */
  readonly grantEndsWith?: string
}
