/**
 * Detects mentions of a user. Quotes and code do not count (contract §3.15).
 */
import { type JsonRecord, recordsAt, textAt } from './payload.ts'

export function mentionsUser(message: JsonRecord, userId: string): boolean {
  const rich = recordsAt(message, 'blocks').filter((block) => textAt(block, 'type') === 'rich_text')
  // With blocks the plain text cannot distinguish a quote from other lines.
  if (rich.length > 0) return rich.some((block) => elementMentionsUser(block, userId))
  return textMentionsUser(textAt(message, 'text') ?? '', userId)
}

const quotedElements: ReadonlySet<string> = new Set(['rich_text_quote', 'rich_text_preformatted'])

/** Deeper than any real message. */
const maxDepth = 20

function elementMentionsUser(element: JsonRecord, userId: string, depth = 0): boolean {
  const type = textAt(element, 'type') ?? ''
  if (quotedElements.has(type) || depth > maxDepth) return false
  if (type === 'user' && textAt(element, 'user_id') === userId) return true
  return recordsAt(element, 'elements').some((inner) => elementMentionsUser(inner, userId, depth + 1))
}

function textMentionsUser(text: string, userId: string): boolean {
  const lines = text
    .replace(/```[^`]*```/g, '')
    .replace(/`[^`\n]*`/g, '')
    .split('\n')
    .filter((line) => !line.startsWith('&gt;'))
  return lines.some((line) => line.includes(`<@${userId}>`) || line.includes(`<@${userId}|`))
}
