/**
 * How long a text is in a platform's own unit, and how much of it fits without tearing a character apart.
 */
import type { MessageLimits } from '../platforms/adapter.ts'

/** The length of a text. Must not shrink when the text grows, and at least half a unit per UTF-16 unit. */
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
 * The largest `end` such that `text.slice(from, end)` measures at most `room`; never inside a surrogate pair.
 * Looks at no more than twice `room` units, so that walking through a text stays linear.
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

/** The last place at or before `end` where a cut tears no emoji, flag or accented letter; `end` where there is none. */
export function graphemeBoundary(text: string, from: number, end: number): number {
  if (end >= text.length || isAsciiPair(text, end - 1, end)) return end
  const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
  // A little beyond the end, so that the character across the cut is seen whole.
  const around = characters.segment(text.slice(from, end + 64)).containing(end - from)
  const start = from + (around?.index ?? 0)
  return start > from ? start : end
}

/** Two plain ASCII characters side by side never belong together. */
function isAsciiPair(text: string, left: number, right: number): boolean {
  return text.charCodeAt(left) < 0x80 && text.charCodeAt(right) < 0x80
}

function isSurrogatePair(text: string, at: number): boolean {
  const low = text.charCodeAt(at)
  const high = text.charCodeAt(at - 1)
  return low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff
}
