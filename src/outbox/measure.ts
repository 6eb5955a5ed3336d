/**
 * Measures texts in the unit of a platform, and finds how much of a text fits without cutting a character.
 */
import type { MessageLimits } from '../platforms/adapter.ts'

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
