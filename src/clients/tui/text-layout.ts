/**
 * Lays texts out in lines of a terminal. Every text of others passes through here: characters that a terminal would obey, and
 * those that cannot be seen, become visible escapes. Linear time, because the text of a model is untrusted.
 */
import { visibleWidth } from '@earendil-works/pi-tui'
import { toVisibleText } from '../../lib/visible-text.ts'
import type { Style } from './theme.ts'

/** A part of a line in one style. */
export interface Span {
  readonly text: string
  readonly style?: Style
}

const plain: Style = (text) => text
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const tab = '    '

/** The lines of the text, broken between words. Longer words are broken anywhere. No line is wider than `width` columns. */
export function wrapSpans(spans: readonly Span[], width: number): string[] {
  const line = createLineWriter(Math.max(1, width))
  for (const { text, style = plain } of spans) {
    for (const [part] of toSafeText(text).matchAll(/\n| +|[^ \n]+/g)) {
      if (part === '\n') line.end()
      else if (part.startsWith(' ')) line.gap(part, style)
      else line.word(part, style)
    }
  }
  return line.close()
}

/** The lines of a text whose spaces have a meaning, such as a program. Lines that are too long are broken anywhere. */
export function wrapHard(text: string, width: number, style: Style = plain): string[] {
  return toSafeText(text)
    .split('\n')
    .flatMap((line) => breakAnywhere(line, Math.max(1, width)))
    .map(style)
}

/** One line. What does not fit is cut, and an ellipsis shows it. */
export function fitLine(spans: readonly Span[], width: number): string {
  let left = width
  let line = ''
  for (const { text, style = plain } of spans) {
    const part = toSafeText(text.slice(0, maxLineChars)).replace(/ *\n */g, ' ')
    const columns = visibleWidth(part)
    if (columns > left) return left < 1 ? line : `${line}${style(`${cutTo(part, left - 1)}…`)}`
    line += style(part)
    left -= columns
  }
  return line
}

/** More than the widest terminal shows. */
const maxLineChars = 4_000

/** `left` and `right` at the ends of one line. The right one is left out when there is no room for both. */
export function spread(left: readonly Span[], right: readonly Span[], width: number): string {
  const end = fitLine(right, width)
  const endWidth = visibleWidth(end)
  const start = fitLine(left, width)
  const startWidth = visibleWidth(start)
  if (endWidth === 0 || startWidth + endWidth + 2 > width) return start
  return `${start}${' '.repeat(width - startWidth - endWidth)}${end}`
}

/** Line breaks stay, tabs become spaces. */
function toSafeText(text: string): string {
  return toVisibleText(text.replaceAll('\r\n', '\n').replaceAll('\t', tab), { keepsMarks: true }).replaceAll(
    '\r',
    '\\r',
  )
}

function cutTo(text: string, columns: number): string {
  return breakAnywhere(text, Math.max(1, columns))[0] ?? ''
}

function breakAnywhere(text: string, width: number): string[] {
  if (visibleWidth(text) <= width) return [text]
  const lines: string[] = []
  let line = ''
  let columns = 0
  for (const { segment } of graphemes.segment(text)) {
    const more = visibleWidth(segment)
    if (columns + more > width && line !== '') {
      lines.push(line)
      line = ''
      columns = 0
    }
    // A wide character does not fit into a terminal of one column.
    line += more > width ? '?' : segment
    columns += Math.min(more, width)
  }
  return [...lines, line]
}

interface Piece {
  readonly text: string
  readonly style: Style
}

/** Collects the pieces of a word until a gap or the end of the line, because styles may change within a word. */
function createLineWriter(width: number) {
  const lines: string[] = []
  let line = ''
  let column = 0
  let word: Piece[] = []
  let wordWidth = 0
  let space: Piece | undefined

  return {
    word(text: string, style: Style) {
      word.push({ text, style })
      wordWidth += visibleWidth(text)
    },
    gap(text: string, style: Style) {
      flushWord()
      space = { text: (space?.text ?? '') + text, style }
    },
    end() {
      flushWord()
      breakLine()
    },
    close() {
      flushWord()
      lines.push(line)
      return lines
    },
  }

  function breakLine(): void {
    lines.push(line)
    line = ''
    column = 0
    space = undefined
  }

  function flushWord(): void {
    if (word.length === 0) return
    const before = Math.min(space?.text.length ?? 0, width - 1)
    if (column > 0 && column + before + wordWidth > width) breakLine()
    else if (space !== undefined) put(space.text.slice(0, before), before, space.style)
    space = undefined
    for (const { text, style } of word) putWord(text, style)
    word = []
    wordWidth = 0
  }

  function putWord(text: string, style: Style): void {
    const columns = visibleWidth(text)
    if (column + columns <= width) {
      put(text, columns, style)
      return
    }
    for (const { segment } of graphemes.segment(text)) {
      const shown = visibleWidth(segment) > width ? '?' : segment
      const more = visibleWidth(shown)
      if (column + more > width) breakLine()
      put(shown, more, style)
    }
  }

  function put(text: string, columns: number, style: Style): void {
    line += style(text)
    column += columns
  }
}
