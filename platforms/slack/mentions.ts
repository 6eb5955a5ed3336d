/**
 * Whether a message speaks to somebody by name. What is only quoted, or stands in code, does not (contract §3.15).
 */
import { type Fields, listIn, textIn } from './payload.ts'

export function mentions(message: Fields, userId: string): boolean {
  const rich = listIn(message, 'blocks').filter((block) => textIn(block, 'type') === 'rich_text')
  // Where Slack says how the text is built, the text itself cannot tell a quote from a line of its own.
  if (rich.length > 0) return rich.some((block) => mentionsIn(block, userId))
  return mentionsInText(textIn(message, 'text') ?? '', userId)
}

const quoted: ReadonlySet<string> = new Set(['rich_text_quote', 'rich_text_preformatted'])

/** Deeper than any message nests. */
const maxDepth = 20

function mentionsIn(element: Fields, userId: string, depth = 0): boolean {
  const type = textIn(element, 'type') ?? ''
  if (quoted.has(type) || depth > maxDepth) return false
  if (type === 'user' && textIn(element, 'user_id') === userId) return true
  return listIn(element, 'elements').some((inner) => mentionsIn(inner, userId, depth + 1))
}

function mentionsInText(text: string, userId: string): boolean {
  const spoken = text
    .replace(/```[^`]*```/g, '')
    .replace(/`[^`\n]*`/g, '')
    .split('\n')
    .filter((line) => !line.startsWith('&gt;'))
  return spoken.some((line) => line.includes(`<@${userId}>`) || line.includes(`<@${userId}|`))
}
