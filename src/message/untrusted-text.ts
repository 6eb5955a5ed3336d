/**
 * Formats what people write (names, titles, quotes, file names, texts) so that it is data: it cannot imitate what the gateway itself
 * writes for the model, and hides nothing from those who read it.
 */
import { toVisibleText } from '../lib/visible-text.ts'

/** Line breaks, brackets and characters that look like brackets. */
const brackets = '[[［⁅⟦【〔﹝]'
const separators = new RegExp(String.raw`(?:[\r\n\t\v\f\u0085\u2028\u2029\]］⁆⟧】〕﹞]|${brackets})+`, 'g')
/** More of a name is not examined. */
const maxExaminedChars = 20_000

/**
 * A name, a title, a quote or a file name as one line without brackets.
 * @param limitChars in UTF-16 units; an ellipsis follows
 */
export function toLabel(text: string, limitChars: number): string {
  const flat = toVisibleText(text.slice(0, maxExaminedChars).toWellFormed().replace(separators, ' ').trim())
  return flat.length <= limitChars ? flat : `${flat.slice(0, limitChars).toWellFormed()}…`
}

/** A name as Markdown. Plain words stay unchanged; any other text becomes a code span, in which nothing is a link. */
export function toMarkdownLabel(text: string, limitChars = 80): string {
  const flat = toLabel(text.replace(/`+/g, ' '), limitChars)
  return /^[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N} .,'-]*$/u.test(flat) ? flat : `\`${flat || '…'}\``
}

/** The start of a line, and what may stand before its first bracket without being seen. */
const lineStart = String.raw`(?<start>^|[\n\r\v\f\u0085\u2028\u2029])(?<blank>[\0-\t\x0e-\x20\x7f-\x84\x86-\xa0\u115f\u1160\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\uffa0\p{Cf}\p{M}]*)`
const anyBracket = new RegExp(lineStart + brackets, 'gu')
/** How the lines begin that the gateway writes. */
const markers = [
  'In reply to:',
  'Attached (?:photo|video|audio|voice|document|sticker)',
  'The user sent a voice message',
  'Voice message of the quoted message',
  'Sent while you work',
  'Record of the earlier conversation',
  'Old tool output cleared',
  'Result of ',
  'Called ',
]
const forgedMarker = new RegExp(String.raw`${lineStart}${brackets}(?=[\s\p{Cf}]*(?:${markers.join('|')}))`, 'giu')
/** The heading of earlier messages of a chat. */
const forgedHeading = new RegExp(`${lineStart}(?=Said in this (?:channel|thread) before:)`, 'giu')

export interface MessageTextOptions {
  /** Several people write in the session: every line in brackets looks like a message of another person. */
  readonly shared: boolean
  /** The text does not begin a line: it follows the name of its author. */
  readonly followsName: boolean
}

/** The text of a message. A bracket that imitates a line of the gateway becomes a parenthesis. */
export function toMessageText(text: string, { shared, followsName }: MessageTextOptions): string {
  const unmarked = replaceBracket(text, forgedMarker).replace(forgedHeading, '$<start>$<blank>> ')
  const safe = shared ? replaceBracket(unmarked, anyBracket, followsName) : unmarked
  return toVisibleText(safe, { keepsMarks: true })
}

function replaceBracket(text: string, pattern: RegExp, keepsFirst = false): string {
  return text.replace(pattern, (match: string, start: string, blank: string) =>
    keepsFirst && start === '' ? match : `${start}${blank}(`,
  )
}
