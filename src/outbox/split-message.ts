/**
 * Cuts a reply into messages that a platform takes: at paragraphs, lines or words, never inside a character, and code
 * fences stay whole or are closed and opened again.
 */
import type { MessageLimits } from '../platforms/adapter.ts'
import { type CodeFence, findCodeFences } from './code-fences.ts'
import { findInlineCodeStart } from './inline-code.ts'
import { fitEnd, graphemeBoundary, type Measure, measureOf } from './measure.ts'

/** Room for ` (12/34)` at the end of each message. */
const indicatorChars = 10
const minChars = 16

/**
 * The messages of a text, each within `limits`, with ` (1/3)` at their ends when there are several. White space at a
 * cut is dropped, nothing else. `measure` replaces the unit of the limits where a platform counts in its own way.
 * Takes time in proportion to the text. Never throws.
 */
export function splitMessage(text: string, limits: MessageLimits, measure = measureOf(limits.unit)): string[] {
  if (measure(text) <= limits.maxChars) return [text]
  const room = Math.max(minChars, limits.maxChars - indicatorChars)
  const parts = cutParts(text.replace(/\r\n?/g, '\n').trimEnd(), room, measure)
  // A million-character reply needs no numbers that would not fit.
  if (parts.length < 2 || parts.length > 999) return parts
  return parts.map((part, index) => `${part}${endsInFence(part) ? '\n' : ' '}(${index + 1}/${parts.length})`)
}

/** A closing fence stays one only on a line of its own. */
function endsInFence(part: string): boolean {
  return /^[ \t>]*(?:`{3,}|~{3,})[ \t]*$/.test(part.slice(part.lastIndexOf('\n') + 1))
}

interface Cut {
  /** Where the message ends. */
  readonly end: number
  /** Where the next one begins. */
  readonly next: number
  /** Closes an open fence. */
  readonly suffix: string
}

interface SplitSource {
  readonly text: string
  readonly maxLength: number
  readonly measure: Measure
  /** The fence that begins last before `at`, when `at` lies inside it, not on its edges. */
  fenceAt(at: number): CodeFence | undefined
  /** Just after the last fence that ends at or before `at`; 0 when there is none. */
  fenceEndBefore(at: number): number
}

function cutParts(text: string, maxLength: number, measure: Measure): string[] {
  // A fence whose own lines fill half a message cannot be repeated in each; it is then cut like prose.
  const fences = findCodeFences(text).filter(
    (fence) => measure(`${fence.reopenLine}\n${fence.quotePrefix}\n${fence.closeLine}`) * 2 <= maxLength,
  )
  const source: SplitSource = { text, maxLength, measure, ...createFenceFinder(fences) }
  const parts: string[] = []
  let from = skipBlankLines(text, 0)
  while (from < text.length) {
    const carried = source.fenceAt(from)
    const head = carried === undefined ? '' : fencePrefix(carried, text, from)
    const cut = nextCut(source, from, measure(head))
    const slice = text.slice(from, cut.end)
    const body = carried === undefined ? slice.trimEnd() : withoutIndent(slice, carried, from)
    if (body.trim() !== '') parts.push(`${head}${body}${cut.suffix}`)
    from = cut.next
  }
  return parts
}

/** Opens the fence again; a quoted line that was cut in two is quoted again. */
function fencePrefix({ reopenLine, quotePrefix }: CodeFence, text: string, from: number): string {
  return text[from - 1] === '\n' ? `${reopenLine}\n` : `${reopenLine}\n${quotePrefix}`
}

/** What closes a fence at the end of the message that begins at `from`. */
function fenceSuffix(fence: CodeFence, from: number): string {
  return `\n${fence.start < from ? fence.recloseLine : fence.closeLine}`
}

/** Fences stand in order and never overlap, so that each look is a binary search. */
function createFenceFinder(fences: readonly CodeFence[]): Pick<SplitSource, 'fenceAt' | 'fenceEndBefore'> {
  /** How many fences begin before `at`. */
  const begunBefore = (at: number) => {
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
      const fence = fences[begunBefore(at) - 1]
      return fence !== undefined && at < fence.end ? fence : undefined
    },
    fenceEndBefore(at) {
      const begun = begunBefore(at)
      const last = fences[begun - 1]
      return (last !== undefined && last.end <= at ? last : fences[begun - 2])?.end ?? 0
    },
  }
}

function nextCut(source: SplitSource, from: number, headLength: number): Cut {
  const { text, measure } = source
  const room = source.maxLength - headLength
  const end = fitEnd(text, from, room, measure)
  if (end === text.length) {
    const unclosed = source.fenceAt(text.length - 1)
    const suffix = unclosed !== undefined && unclosed.closeStart === text.length ? fenceSuffix(unclosed, from) : ''
    if (suffix === '' || measure(text.slice(from)) + measure(suffix) <= room) return { end, next: end, suffix }
  }
  const fence = source.fenceAt(end === text.length ? end - 1 : end)
  if (fence === undefined) return cutProse(source, from, end)
  return cutFence(source, fence, from, room, end) ?? { end: fence.start, next: fence.start, suffix: '' }
}

/** Cuts inside a fence, or says undefined when the message should end before it. */
function cutFence(source: SplitSource, fence: CodeFence, from: number, room: number, end: number): Cut | undefined {
  const { text, measure } = source
  const startsHere = fence.start > from
  if (startsHere) {
    const half = from + (end - from) / 2
    // Longer than two messages can hold is not worth measuring: that would make long fences quadratic.
    const short = fence.end - fence.start <= source.maxLength * 2
    const fitsAlone = short && measure(text.slice(fence.start, fence.end)) <= source.maxLength
    if (fitsAlone || fence.start >= half) return undefined
  }
  const tail = fenceSuffix(fence, from)
  const limit = fitEnd(text, from, room - measure(tail), measure)
  const newline = text.slice(from, limit + 1).lastIndexOf('\n') + from
  const firstLine = Math.max(fence.codeStart, from)
  // A break of the first half will do where it keeps a line of code whole.
  const nextLine = text.slice(newline + 1, newline + 1 + room)
  const good = newline - from >= (limit - from) / 2 || nextLine.includes('\n') || newline + 1 === fence.closeStart
  if (newline > firstLine && good) return cutInsideFence(source, fence, newline, newline + 1, tail)
  if (newline <= firstLine && startsHere) return undefined
  const hard = Math.max(graphemeBoundary(text, from, limit), from + 1)
  return cutInsideFence(source, fence, hard, hard, tail)
}

/** When only blank lines and the closing line are left, the tail stands for them. */
function cutInsideFence({ text }: SplitSource, fence: CodeFence, end: number, next: number, suffix: string): Cut {
  return { end, next: next >= fence.codeEnd ? skipBlanks(text, fence.end) : next, suffix }
}

function cutProse(source: SplitSource, from: number, end: number): Cut {
  const { text } = source
  const first = findProseEnd(source, from, end)
  const prose = Math.max(from, source.fenceEndBefore(first))
  const code = findInlineCodeStart(text.slice(prose, end + (end - from)), first - prose)
  const to = code === undefined || prose + code === from ? first : findProseEnd(source, from, prose + code)
  if (text[to] === '\n') return { end: to, next: skipBlankLines(text, to + 1), suffix: '' }
  if (isBlank(text[to])) return { end: to, next: skipBlanks(text, to), suffix: '' }
  return { end: to, next: to, suffix: '' }
}

/** The best place to end at or before `end`: a paragraph or a line of the second half, a word, a character. */
function findProseEnd({ text, fenceAt, fenceEndBefore }: SplitSource, from: number, end: number): number {
  const window = text.slice(from, end + 1)
  const half = from + (end - from) / 2
  /** A break inside a fence counts as the fence's end, which is one too. */
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

/** Skips empty lines, and keeps the indentation of the first that is not. */
function skipBlankLines(text: string, at: number): number {
  let lineStart = at
  for (let next = at; next < text.length; next++) {
    if (text[next] === '\n') lineStart = next + 1
    else if (!isBlank(text[next])) return lineStart
  }
  return text.length
}

/** In a message of its own a fence has left its list: its lines lose the list's indentation, as Markdown would do. */
function withoutIndent(slice: string, { indent, closeStart, end }: CodeFence, from: number): string {
  const body = slice.slice(0, Math.max(0, closeStart - from))
  const shut = slice.slice(body.length, Math.max(body.length, end - from))
  const rest = slice.slice(body.length + shut.length).trimEnd()
  if (indent === 0) return `${body}${shut}${rest}`
  return `${body.replace(new RegExp(`^[ \\t]{1,${indent}}`, 'gm'), '')}${shut.trimStart()}${rest}`
}
