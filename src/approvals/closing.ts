/**
 * How the message of a question reads once the question has ended.
 */
import type { SessionSource } from '../message/source.ts'
import type { Choice, Question } from './question.ts'

/** What people read under the question: `chosen` by whom, or why nobody chose. */
export type Ending =
  | { readonly kind: 'chosen'; readonly choice: Pick<Choice, 'label'>; readonly by?: string; readonly reason?: string }
  | { readonly kind: 'unanswered'; readonly says: string }
  | { readonly kind: 'replaced' | 'cancelled' }

/** Markdown, without buttons and without the words that could be typed. */
export function closedText({ text }: Pick<Question, 'text'>, ending: Ending): string {
  return `${text}\n\n${endingText(ending)}`
}

/** The last line alone. */
export function endingText(ending: Ending): string {
  switch (ending.kind) {
    case 'chosen': {
      const by = ending.by === undefined ? '' : ` — ${ending.by}`
      return `**${ending.choice.label}**${by}${ending.reason === undefined ? '' : `: ${inert(ending.reason)}`}`
    }
    case 'unanswered':
      return `*Nobody answered in time. ${ending.says}*`
    case 'replaced':
      return '*Asked again below.*'
    case 'cancelled':
      return '*Not asked any more: what it was for has ended.*'
  }
}

/** Whoever answered, as harmless markdown: names come from people. */
export function shownName({ userName, userId }: SessionSource): string {
  return inert(userName || userId || 'somebody')
}

/** Plain words stay as they are, anything else is shown letter by letter. */
function inert(text: string): string {
  const flat = text
    .replace(/[\s`]+/g, ' ')
    .trim()
    .slice(0, 80)
    .toWellFormed()
  return /^[\p{L}\p{N}][\p{L}\p{N} .,'-]*$/u.test(flat) ? flat : `\`${flat || '…'}\``
}
