/**
 * Fits texts into the limits of a platform. A reply is split into messages: at paragraphs, lines or words, never within a character. A
 * code fence that does not fit is closed and reopened in the next message. A draft is cut to what one message can show.
 */
import type { MessageLimits } from '../platforms/adapter.ts'
import { type CodeFence, findCodeFences } from './code-fences.ts'
import { findInlineCodeStart } from './inline-code.ts'

/** Space for ` (12/34)` at the end of each message. */
const indicatorChars = 10
const minChars = 16

/**
 * The messages of a text, each within `limits`, numbered ` (1/3)` at the end when there are several. Only white space at a
 * cut is dropped. `measure` replaces the unit of the limits for platforms with another definition of length.
 * The run time is linear in the length of the text. Never throws.
 */
export function splitMessage(text: string, limits: MessageLimits, measure = measureOf(limits.unit)): string[] {
  if (measure(text) <= limits.maxChars) return [text]
  const maxLength = Math.max(minChars, limits.maxChars - indicatorChars)
  const parts = cutParts(text.replace(/\r\n?/g, '\n').trimEnd(), maxLength, measure)
  // Numbers above 999 would not fit into the reserved space.
  if (parts.length < 2 || parts.length > 999) return parts
  return parts.map((part, index) => `${part}${endsInFence(part) ? '\n' : ' '}(${index + 1}/${parts.length})`)
}

/** A part this short is sent even if the platform's adapter says that it does not fit. */
const minSplitChars = 200

/** Splits as `splitMessage` does, and into smaller parts until the platform accepts the content of each. */
export function splitReply(text: string, limits: MessageLimits): string[] {
  const parts = splitMessage(text, limits)
  if (limits.fits === undefined || parts.every((part) => limits.fits?.(part) !== false)) return parts
  const longest = Math.max(...parts.map(measureOf(limits.unit)))
  const maxChars = Math.floor(longest * 0.8)
  return maxChars < minSplitChars ? parts : splitReply(text, { ...limits, maxChars })
}

/** A closing fence must be alone on its line, so the number goes on the next one. */
function endsInFence(part: string): boolean {
  return /^[ \t>]*(?:`{3,}|~{3,})[ \t]*$/.test(part.slice(part.lastIndexOf('\n') + 1))
}

interface Cut {
  /** The end of the message. */
  readonly end: number
  /** The start of the next message. */
  readonly next: number
  /** Closes an open fence. */
  readonly suffix: string
}

interface SplitSource {
  readonly text: string
  readonly maxLength: number
  readonly measure: Measure
  /** The fence around `at`; `undefined` when `at` is outside of fences or on the edge of one. */
  fenceAt(at: number): CodeFence | undefined
  /** The end of the last fence that ends at or before `at`; 0 when there is none. */
  fenceEndBefore(at: number): number
}

function cutParts(text: string, maxLength: number, measure: Measure): string[] {
  // A fence whose opening and closing lines fill half a message is split like prose instead of being reopened.
  const fences = findCodeFences(text).filter(
    (fence) => measure(`${fence.reopenLine}\n${fence.quotePrefix}\n${fence.closeLine}`) * 2 <= maxLength,
  )
  const source: SplitSource = { text, maxLength, measure, ...createFenceFinder(fences) }
  const parts: string[] = []
  let from = skipBlankLines(text, 0)
  while (from < text.length) {
    const continued = source.fenceAt(from)
    const head = continued === undefined ? '' : fencePrefix(continued, text, from)
    const cut = nextCut(source, from, measure(head))
    const slice = text.slice(from, cut.end)
    const body = continued === undefined ? slice.trimEnd() : withoutIndent(slice, continued, from)
    if (body.trim() !== '') parts.push(`${head}${body}${cut.suffix}`)
    from = cut.next
  }
  return parts
}

/** The lines that reopen a fence. The rest of a quoted line that was cut gets a new quote mark. */
function fencePrefix({ reopenLine, quotePrefix }: CodeFence, text: string, from: number): string {
  return text[from - 1] === '\n' ? `${reopenLine}\n` : `${reopenLine}\n${quotePrefix}`
}

/** The line that closes a fence at the end of the message that begins at `from`. */
function fenceSuffix(fence: CodeFence, from: number): string {
  return `\n${fence.start < from ? fence.recloseLine : fence.closeLine}`
}

/** Fences are sorted and do not overlap, so a binary search finds them. */
function createFenceFinder(fences: readonly CodeFence[]): Pick<SplitSource, 'fenceAt' | 'fenceEndBefore'> {
  /** The number of fences that begin before `at`. */
  const countBefore = (at: number) => {
    let low = 0
    let high = fences.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((fences[middle]?.start ?? 0) < at) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    fenceAt(at) {
      const fence = fences[countBefore(at) - 1]
      return fence !== undefined && at < fence.end ? fence : undefined
    },
    fenceEndBefore(at) {
      const count = countBefore(at)
      const last = fences[count - 1]
      return (last !== undefined && last.end <= at ? last : fences[count - 2])?.end ?? 0
    },
  }
}

function nextCut(source: SplitSource, from: number, headLength: number): Cut {
  const { text, measure } = source
  const available = source.maxLength - headLength
  const end = fitEnd(text, from, available, measure)
  if (end === text.length) {
    const unclosed = source.fenceAt(text.length - 1)
    const suffix = unclosed !== undefined && unclosed.closeStart === text.length ? fenceSuffix(unclosed, from) : ''
    if (suffix === '' || measure(text.slice(from)) + measure(suffix) <= available) return { end, next: end, suffix }
  }
  const fence = source.fenceAt(end === text.length ? end - 1 : end)
  if (fence === undefined) return cutProse(source, from, end)
  return cutFence(source, fence, from, available, end) ?? { end: fence.start, next: fence.start, suffix: '' }
}

/** A cut inside a fence; `undefined` when the message should end before the fence. */
function cutFence(
  source: SplitSource,
  fence: CodeFence,
  from: number,
  available: number,
  end: number,
): Cut | undefined {
  const { text, measure } = source
  const startsHere = fence.start > from
  if (startsHere) {
    const half = from + (end - from) / 2
    // A fence longer than two messages is not measured: that would make long fences quadratic.
    const isShort = fence.end - fence.start <= source.maxLength * 2
    const fitsAlone = isShort && measure(text.slice(fence.start, fence.end)) <= source.maxLength
    if (fitsAlone || fence.start >= half) return undefined
  }
  const suffix = fenceSuffix(fence, from)
  const limit = fitEnd(text, from, available - measure(suffix), measure)
  const newline = text.slice(from, limit + 1).lastIndexOf('\n') + from
  const firstLine = Math.max(fence.codeStart, from)
  // A line break in the first half is good enough where it keeps a line of code whole.
  const nextLine = text.slice(newline + 1, newline + 1 + available)
  const isGood = newline - from >= (limit - from) / 2 || nextLine.includes('\n') || newline + 1 === fence.closeStart
  if (newline > firstLine && isGood) return cutInsideFence(source, fence, newline, newline + 1, suffix)
  if (newline <= firstLine && startsHere) return undefined
  const cut = Math.max(graphemeBoundary(text, from, limit), from + 1)
  return cutInsideFence(source, fence, cut, cut, suffix)
}

/** When only blank lines and the closing line are left, the suffix replaces them. */
function cutInsideFence({ text }: SplitSource, fence: CodeFence, end: number, next: number, suffix: string): Cut {
  return { end, next: next >= fence.codeEnd ? skipBlanks(text, fence.end) : next, suffix }
}

function cutProse(source: SplitSource, from: number, end: number): Cut {
  const { text } = source
  const preferred = findProseEnd(source, from, end)
  const proseStart = Math.max(from, source.fenceEndBefore(preferred))
  const code = findInlineCodeStart(text.slice(proseStart, end + (end - from)), preferred - proseStart)
  const splitsCode = code !== undefined && proseStart + code !== from
  const cut = splitsCode ? findProseEnd(source, from, proseStart + code) : preferred
  if (text[cut] === '\n') return { end: cut, next: skipBlankLines(text, cut + 1), suffix: '' }
  if (isBlank(text[cut])) return { end: cut, next: skipBlanks(text, cut), suffix: '' }
  return { end: cut, next: cut, suffix: '' }
}

/** The best cut at or before `end`: the end of a paragraph or a line in the second half, of a word, or of a character. */
function findProseEnd({ text, fenceAt, fenceEndBefore }: SplitSource, from: number, end: number): number {
  const window = text.slice(from, end + 1)
  const half = from + (end - from) / 2
  /** A break inside a fence is replaced with the end of the fence. */
  const outside = (at: number) => fenceAt(at)?.end ?? at
  const paragraph = Math.max(outside(from + window.lastIndexOf('\n\n')), fenceEndBefore(end))
  if (paragraph >= half && paragraph > from && paragraph <= end) return paragraph
  const line = outside(from + window.lastIndexOf('\n'))
  if (line >= half && line > from && line <= end) return line
  const word = outside(from + Math.max(window.lastIndexOf(' '), window.lastIndexOf('\t'), window.lastIndexOf('\n')))
  if (word > from && word <= end) return word
  return Math.max(graphemeBoundary(text, from, end), from + 1)
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t'
}

function skipBlanks(text: string, at: number): number {
  let next = at
  while (isBlank(text[next])) next++
  return text[next] === '\n' ? skipBlankLines(text, next + 1) : next
}

/** Skips blank lines, but not the indentation of the line after them. */
function skipBlankLines(text: string, at: number): number {
  let lineStart = at
  for (let next = at; next < text.length; next++) {
    if (text[next] === '\n') lineStart = next + 1
    else if (!isBlank(text[next])) return lineStart
  }
  return text.length
}

/** A continued fence is not in its list any more, so its lines lose the indentation of the list, as in Markdown. */
function withoutIndent(slice: string, { indent, closeStart, end }: CodeFence, from: number): string {
  const body = slice.slice(0, Math.max(0, closeStart - from))
  const closing = slice.slice(body.length, Math.max(body.length, end - from))
  const rest = slice.slice(body.length + closing.length).trimEnd()
  if (indent === 0) return `${body}${closing}${rest}`
  return `${body.replace(new RegExp(`^[ \\t]{1,${indent}}`, 'gm'), '')}${closing.trimStart()}${rest}`
}

/** The length of a text. Must be monotonic, and at least half a unit per UTF-16 code unit. */
export type Measure = (text: string) => number

export function measureOf(unit: MessageLimits['unit']): Measure {
  switch (unit) {
    case 'utf16':
      return (text) => text.length
    case 'codepoints':
      return countCodePoints
    case 'bytes':
      return (text) => Buffer.byteLength(text)
  }
}

function countCodePoints(text: string): number {
  let count = text.length
  for (let at = 1; at < text.length; at++) if (isSurrogatePair(text, at)) count--
  return count
}

/**
 * The largest `end` such that `text.slice(from, end)` measures at most `maxLength`; never inside a surrogate pair.
 * Reads at most twice `maxLength` code units, so that splitting a text stays linear.
 */
export function fitEnd(text: string, from: number, maxLength: number, measure: Measure): number {
  let low = from
  let high = Math.min(text.length, from + Math.max(0, maxLength) * 2)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (measure(text.slice(from, middle)) <= maxLength) low = middle
    else high = middle - 1
  }
  return isSurrogatePair(text, low) ? low - 1 : low
}

/** The last boundary between graphemes (emoji, flags, accented letters) at or before `end`; `end` when there is none. */
export function graphemeBoundary(text: string, from: number, end: number): number {
  if (end >= text.length || isAsciiPair(text, end - 1, end)) return end
  const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
  // A little beyond the end, so that the segmenter sees the whole grapheme at the cut.
  const around = characters.segment(text.slice(from, end + 64)).containing(end - from)
  const start = from + (around?.index ?? 0)
  return start > from ? start : end
}

/** There is always a grapheme boundary between two ASCII characters, except within CR LF, which is no problem here. */
function isAsciiPair(text: string, left: number, right: number): boolean {
  return text.charCodeAt(left) < 0x80 && text.charCodeAt(right) < 0x80
}

function isSurrogatePair(text: string, at: number): boolean {
  const low = text.charCodeAt(at)
  const high = text.charCodeAt(at - 1)
  return low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff
}

/** Left free below the limit, because rendering a text that was cut anywhere may make it longer. */
const renderMargin = 100
const minDraftChars = 500

/** The text with its cursor, cut to what one message can show. */
export function formatDraftText(
  fullText: string,
  { maxChars, unit }: MessageLimits,
  cursor: string,
): { text: string; isFull: boolean } {
  const measure = measureOf(unit)
  const available = maxChars - measure(cursor)
  const limit = Math.min(available, Math.max(minDraftChars, available - renderMargin))
  const fitting = fitEnd(fullText, 0, limit, measure)
  const end = graphemeBoundary(fullText, 0, fitting)
  return { text: `${fullText.slice(0, end).toWellFormed()}${cursor}`, isFull: fitting < fullText.length }
}
