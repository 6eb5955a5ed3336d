/**
 * The text of a question's message after the question is resolved.
 */
import type { SessionSource } from '../message/source.ts'
import type { Choice, Question } from './question.ts'

/** The resolution: `chosen` and by whom, or why there is no choice. */
export type QuestionResult =
  | { readonly kind: 'chosen'; readonly choice: Pick<Choice, 'label'>; readonly by?: string; readonly reason?: string }
  | { readonly kind: 'unanswered'; readonly says: string }
  | { readonly kind: 'replaced' | 'cancelled' }

/** Markdown, without buttons and without typed commands. */
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
      return `*No answer in time. ${result.says}*`
    case 'replaced':
      return '*Asked again below.*'
    case 'cancelled':
      return '*Cancelled: the turn that asked has ended.*'
  }
}

/** The name of the user as escaped markdown, because users choose their names. */
export function displayName({ userName, userId }: SessionSource): string {
  return escapeMarkdown(userName || userId || 'a user')
}

/** Plain words stay unchanged; any other text becomes a code span. */
function escapeMarkdown(text: string): string {
  const flat = text
    .replace(/[\s`]+/g, ' ')
    .trim()
    .slice(0, 80)
    .toWellFormed()
  return /^[\p{L}\p{N}][\p{L}\p{N} .,'-]*$/u.test(flat) ? flat : `\`${flat || '…'}\``
}
