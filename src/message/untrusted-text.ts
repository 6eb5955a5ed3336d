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
const openingBracket = new RegExp(brackets, 'u')
const closingBracket = /[\]］⁆⟧】〕﹞]/
const lineBreak = /[\n\r\v\f\u0085\u2028\u2029]/
/** The lines by which a text says where it comes from, and which its author must not imitate. Texts, in any case. */
export interface ReservedLines {
  /** How lines in brackets begin, without the bracket. */
  readonly brackets?: readonly string[]
  /** How other lines begin. */
  readonly headings?: readonly string[]
}

/**
 * Creates a filter for texts of people. Brackets of a reserved line become parentheses, and a reserved heading is quoted with
 * `> `. An adapter filters what people wrote before it adds such lines of its own. Linear time.
 */
export function createLineFilter({
  brackets: inBrackets = [],
  headings = [],
}: ReservedLines): (text: string) => string {
  const alternatives = (texts: readonly string[]) => texts.map((text) => RegExp.escape(text)).join('|')
  const bracketed = new RegExp(`${bracketedLine}(?:${alternatives(inBrackets)}))`, 'giu')
  const heading = new RegExp(`${lineStart}(?=${alternatives(headings)})`, 'giu')
  return (text) => {
    const safe = inBrackets.length === 0 ? text : replaceBrackets(text, bracketed)
    return headings.length === 0 ? safe : quoteHeadings(safe, heading)
  }
}

/** An opening bracket, up to what a line in brackets begins with. */
const bracketedLine = String.raw`${lineStart}${brackets}(?=[\s\p{Cf}]*`

function quoteHeadings(text: string, heading: RegExp): string {
  return text.replace(heading, '$<start>$<blank>> ')
}

/** How the lines begin that the gateway writes. `createLineFilter` does not make them: most messages need none of these functions. */
const gatewayLines = [
  'In reply to:',
  'Attached (?:photo|video|audio|voice|document|sticker)',
  'The user sent a voice message',
  'Voice message of the quoted message',
  'End of the transcript',
  'Sent while you work',
  'Not(?:e|ice) of the gateway',
  'Record of the earlier conversation',
  'Old tool output cleared',
  'Result of ',
  'Called ',
  // The instructions of a skill that a person has named.
  'Skill of the user:',
  'End of the skill ',
  // What a plugin adds to a conversation.
  String.raw`system\]`,
  // What ended a turn.
  'interrupted by ',
  'stopped by the user',
  'no answer:',
].join('|')
const gatewayLine = new RegExp(`${bracketedLine}(?:${gatewayLines}))`, 'giu')
/** The heading of earlier messages of a chat. */
const gatewayHeading = new RegExp(`${lineStart}(?=Said in this (?:channel|thread) before:)`, 'giu')

export interface MessageTextOptions {
  /** Several people write in the session: every line in brackets looks like a message of another person. */
  readonly shared: boolean
  /** The text does not begin a line: it follows the name of its author. */
  readonly followsName: boolean
}

/** The text of a message. Brackets that imitate a line of the gateway become parentheses. */
export function toMessageText(text: string, { shared, followsName }: MessageTextOptions): string {
  const unmarked = quoteHeadings(replaceBrackets(text, gatewayLine), gatewayHeading)
  const safe = shared ? replaceBrackets(unmarked, anyBracket, followsName) : unmarked
  return toVisibleText(safe, { keepsMarks: true })
}

/** @param pattern matches up to an opening bracket, with what begins the line in the group `start` */
function replaceBrackets(text: string, pattern: RegExp, keepsFirst = false): string {
  const parts: string[] = []
  let from = 0
  for (const match of text.matchAll(pattern)) {
    if (keepsFirst && match.groups?.['start'] === '') continue
    const open = match.index + match[0].length - 1
    parts.push(text.slice(from, open), '(')
    from = open + 1
    const close = findClosingBracket(text, from)
    if (close === undefined) continue
    parts.push(text.slice(from, close), ')')
    from = close + 1
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(from)
}

/** The bracket of the same line that closes the one before `from`. */
function findClosingBracket(text: string, from: number): number | undefined {
  let depth = 1
  for (let index = from; index < text.length; index++) {
    const character = text.charAt(index)
    if (lineBreak.test(character)) return undefined
    if (openingBracket.test(character)) depth += 1
    else if (closingBracket.test(character)) depth -= 1
    if (depth === 0) return index
  }
  return undefined
}
