/**
 * How the message of a question reads once the question has ended.
 */
import type { SessionSource } from '../message/source.ts'
import type { Choice, Question } from './question.ts'

/** What people read under the question: `chosen` by whom, or why nobody chose. */
export type QuestionResult =
  | { readonly kind: 'chosen'; readonly choice: Pick<Choice, 'label'>; readonly by?: string; readonly reason?: string }
  | { readonly kind: 'unanswered'; readonly says: string }
  | { readonly kind: 'replaced' | 'cancelled' }

/** Markdown, without buttons and without the words that could be typed. */
export function resolvedText({ text }: Pick<Question, 'text'>, result: QuestionResult): string {
  return `${text}\n\n${resultLine(result)}`
}

/** The last line alone. */
export function resultLine(result: QuestionResult): string {
  switch (result.kind) {
    case 'chosen': {
      const by = result.by === undefined ? '' : ` — ${result.by}`
      return `**${result.choice.label}**${by}${result.reason === undefined ? '' : `: ${escapeMarkdown(result.reason)}`}`
    }
    case 'unanswered':
      return `*Nobody answered in time. ${result.says}*`
    case 'replaced':
      return '*Asked again below.*'
    case 'cancelled':
      return '*Not asked any more: what it was for has ended.*'
  }
}

/** Whoever answered, as harmless markdown: names come from people. */
export function displayName({ userName, userId }: SessionSource): string {
  return escapeMarkdown(userName || userId || 'somebody')
}

/** Plain words stay as they are, anything else is shown letter by letter. */
function escapeMarkdown(text: string): string {
  const flat = text
    .replace(/[\s`]+/g, ' ')
    .trim()
    .slice(0, 80)
    .toWellFormed()
  return /^[\p{L}\p{N}][\p{L}\p{N} .,'-]*$/u.test(flat) ? flat : `\`${flat || '…'}\``
}
