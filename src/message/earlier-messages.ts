/**
 * Formats the earlier messages of a channel or thread as context for the model. Their authors need not be on an allow list, so
 * no message may look like one of another author.
 */
import { toVisibleText } from '../lib/visible-text.ts'
import type { Attachment } from './event.ts'
import { toLabel } from './untrusted-text.ts'

/** A message that precedes the one that is being answered. */
export interface EarlierMessage {
  readonly author: string
  readonly text: string
  readonly attachments: readonly Pick<Attachment, 'kind' | 'fileName'>[]
}

/** Limits in UTF-16 units: all lines together, and the text of one message. */
const maxChars = 8_000
const maxTextChars = 4_000

/**
 * Returns one string for each message, oldest first: `[author] text [image: file name]`. Further lines of a text are indented,
 * so that they cannot imitate a message of another author. A text is cut after 4,000 characters; the newest messages that fit
 * into 8,000 characters are returned. Messages without text and files are left out.
 *
 * @param messages oldest first
 */
export function formatEarlierMessages(messages: readonly EarlierMessage[]): string[] {
  const lines: string[] = []
  let remaining = maxChars
  // Whole messages only, because a truncated one could be attributed to another author.
  for (const message of messages.toReversed()) {
    const line = toLine(message)
    if (line === undefined) continue
    remaining -= line.length + 1
    if (remaining < 0) break
    lines.unshift(line)
  }
  return lines
}

function toLine({ author, text, attachments }: EarlierMessage): string | undefined {
  const shortText = toVisibleText(text.slice(0, maxTextChars).toWellFormed(), { keepsMarks: true }).replace(
    /\r\n?|[\n\v\f\u0085\u2028\u2029]/g,
    '\n    ',
  )
  const files = attachments.map(({ kind, fileName = 'no name' }) => {
    return `[${kind === 'photo' ? 'image' : kind}: ${toLabel(fileName, 200)}]`
  })
  const parts = [shortText, ...files].filter((part) => part !== '')
  return parts.length === 0 ? undefined : `[${toLabel(author, 80) || 'unknown user'}] ${parts.join(' ')}`
}
