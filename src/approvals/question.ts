/**
 * What is put to people: a text, its choices, and what follows from each. Plain data, because the answer may come after
 * a restart.
 */
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Button } from '../message/outbound.ts'
import type { SessionSource } from '../message/source.ts'

export type QuestionKind = 'slash-confirm' | 'approval' | 'clarify'

export interface Question {
  /** At most 40 letters, digits and `-`, unique for ever; made if left out. */
  readonly id?: string
  readonly kind: QuestionKind
  readonly sessionKey: SessionKey
  /** Whose action waits, and where. Only this person answers, or anybody where the session is shared. */
  readonly source: SessionSource
  /** Markdown, short enough for one message. */
  readonly text: string
  readonly choices: readonly Choice[]
  /** When nobody has answered in time. */
  readonly unanswered: Effect
  readonly timeoutMs: number
  /** The platform's id of the message that is asked about. */
  readonly replyTo?: string
  /** Of an approval, for plugins: what would be done. */
  readonly about?: ApprovalSubject
}

/** What a person is asked to allow (contract §2.6, `pre_approval_request`). */
export interface ApprovalSubject {
  /** The shell command, or the tool with its arguments. */
  readonly command: string
  /** Why it is asked. */
  readonly description: string
  /** The rules that ask for it, the first one first. */
  readonly patternKeys: readonly string[]
  readonly turnId: string
  readonly toolCallId: string
}

export interface Choice {
  /** Small letters, digits and `-`, 16 at most: it is part of the button's id. */
  readonly answer: string
  readonly label: string
  readonly style?: NonNullable<Button['style']>
  /** What people may type instead, without the slash: `approve`, `approve always`, `deny`. */
  readonly typed: readonly string[]
  readonly effect: Effect
}

export interface Effect {
  /** One short line for whoever chose. */
  readonly says: string
  /** Handed in as the gateway's own event, in the control lane of the session. */
  readonly event?: MessageEvent
  /** A rule that is not asked about again in this conversation. */
  readonly grant?: string
  /** The session with which the grant ends; it stays if left out. */
  readonly grantEndsWith?: string
}

/** The contract's forms (§3.2): `sc:<choice>:<id>`, `appr:<id>:<choice>`, `cl:<id>:<index>`. */
export function buttonsOf(id: string, { kind, choices }: Pick<Question, 'kind' | 'choices'>): Button[] {
  return choices.map(({ answer, label, style }, index) => ({
    id: buttonId(id, kind, answer, index),
    label,
    ...(style === undefined ? {} : { style }),
  }))
}

function buttonId(id: string, kind: QuestionKind, answer: string, index: number): string {
  switch (kind) {
    case 'slash-confirm':
      return `sc:${answer}:${id}`
    case 'approval':
      return `appr:${id}:${answer}`
    case 'clarify':
      return `cl:${id}:${index}`
  }
}

/** The id of the question a button belongs to; undefined for buttons that are none of ours. */
export function parseQuestionId(buttonId: string): string | undefined {
  const [kind, second, third, ...more] = buttonId.split(':')
  if (more.length > 0) return undefined
  if (kind === 'sc') return third
  return kind === 'appr' || kind === 'cl' ? second : undefined
}
