/**
 * Whether a message speaks to somebody by name. What is only quoted, or stands in code, does not (contract §3.15).
 */
import { type JsonRecord, recordsAt, textAt } from './payload.ts'

export function mentionsUser(message: JsonRecord, userId: string): boolean {
  const rich = recordsAt(message, 'blocks').filter((block) => textAt(block, 'type') === 'rich_text')
  // Where Slack says how the text is built, the text itself cannot tell a quote from a line of its own.
  if (rich.length > 0) return rich.some((block) => elementMentionsUser(block, userId))
  return textMentionsUser(textAt(message, 'text') ?? '', userId)
}

const quotedElements: ReadonlySet<string> = new Set(['rich_text_quote', 'rich_text_preformatted'])

/** Deeper than any message nests. */
const maxDepth = 20

function elementMentionsUser(element: JsonRecord, userId: string, depth = 0): boolean {
  const type = textAt(element, 'type') ?? ''
  if (quotedElements.has(type) || depth > maxDepth) return false
  if (type === 'user' && textAt(element, 'user_id') === userId) return true
  return recordsAt(element, 'elements').some((inner) => elementMentionsUser(inner, userId, depth + 1))
}

function textMentionsUser(text: string, userId: string): boolean {
  const spoken = text
    .replace(/```[^`]*```/g, '')
    .replace(/`[^`\n]*`/g, '')
    .split('\n')
    .filter((line) => !line.startsWith('&gt;'))
  return spoken.some((line) => line.includes(`<@${userId}>`) || line.includes(`<@${userId}|`))
}
