/**
 * Replaces a part of a text. Falls back to matching whole lines without regard to spaces, because models often write wrong
 * indentation. The run time is linear in the length of the texts.
 */
import { toOneLine } from '../../lib/visible-text.ts'

export type ReplaceTextResult =
  /** `count`: how many parts were replaced. `lines`: the line numbers of the first ones in the old text, from 1. */
  | {
      readonly ok: true
      readonly text: string
      readonly count: number
      readonly lines: readonly number[]
      readonly exact: boolean
    }
  /** `reason` tells the model what to change. */
  | {
      readonly ok: false
      readonly code: 'unchanged' | 'not_found' | 'ambiguous' | 'too_large'
      readonly reason: string
    }

export interface Replacement {
  readonly text: string
  /** A text that is not empty. Its line breaks, and those of `replacement`, become those of the text. */
  readonly search: string
  readonly replacement: string
  readonly all: boolean
}

const maxListedLines = 50
/** Thousands of matches can multiply a long replacement. */
const maxResultChars = 16 * 1024 * 1024

export function replaceText({ text, search, replacement, all }: Replacement): ReplaceTextResult {
  const ending = text.includes('\r\n') ? '\r\n' : '\n'
  const searched = withLineEnding(search, ending)
  const inserted = withLineEnding(replacement, ending)
  if (searched === inserted)
    return { ok: false, code: 'unchanged', reason: 'old_string and new_string are the same; nothing to do.' }
  const exactMatches = findExactMatches(text, searched)
  const exact = exactMatches.length > 0
  const ranges = exact ? exactMatches : findLooseMatches(text, searched)
  const lines = lineNumbersOf(text, ranges.slice(0, maxListedLines))
  if (ranges.length === 0) return { ok: false, code: 'not_found', reason: notFoundMessage(text, search) }
  if (ranges.length > 1 && !all) {
    const lineList = `lines ${lines.slice(0, 20).join(', ')}${ranges.length > 20 ? ' …' : ''}`
    return {
      ok: false,
      code: 'ambiguous',
      reason: `old_string occurs ${ranges.length} times (${lineList}). Add lines around it, or set replace_all.`,
    }
  }
  const pieceFor = exact ? () => inserted : createReindent(inserted, searched, text)
  const parts: string[] = []
  let chars = text.length
  let end = 0
  for (const range of ranges) {
    const piece = pieceFor(range)
    chars += piece.length - (range.end - range.start)
    if (chars > maxResultChars) return tooLarge
    parts.push(text.slice(end, range.start), piece)
    // Removing whole lines removes their line break, too.
    const takesBreak = piece === '' && !exact && text.startsWith(ending, range.end)
    end = takesBreak ? range.end + ending.length : range.end
  }
  parts.push(text.slice(end))
  return { ok: true, text: parts.join(''), count: ranges.length, lines, exact }
}

const tooLarge: ReplaceTextResult = {
  ok: false,
  code: 'too_large',
  reason: `The result would be longer than ${maxResultChars / 1024 / 1024} MB. Nothing was changed.`,
}

interface TextRange {
  readonly start: number
  readonly end: number
}

const withLineEnding = (text: string, ending: string) => text.replace(/\r?\n/g, ending)

/** The ranges are sorted. */
function lineNumbersOf(text: string, ranges: readonly TextRange[]): number[] {
  let line = 1
  let nextBreak = text.indexOf('\n')
  return ranges.map(({ start }) => {
    while (nextBreak >= 0 && nextBreak < start) {
      line += 1
      nextBreak = text.indexOf('\n', nextBreak + 1)
    }
    return line
  })
}

function findExactMatches(text: string, searched: string): TextRange[] {
  const ranges: TextRange[] = []
  for (let at = text.indexOf(searched); at >= 0; at = text.indexOf(searched, at + searched.length)) {
    ranges.push({ start: at, end: at + searched.length })
  }
  return ranges
}

/** Sequences of whole lines that equal the searched lines when spaces are ignored. They do not overlap. */
function findLooseMatches(text: string, searched: string): TextRange[] {
  const searchedLines = searched.split('\n').map(toOneLine)
  while (searchedLines.at(-1) === '') searchedLines.pop()
  const first = searchedLines.findIndex((line) => line !== '')
  if (first === -1) return []
  searchedLines.splice(0, first)
  const lines = splitLines(text)
  return findSequences(
    lines.map(({ loose }) => loose),
    searchedLines,
  ).map((index) => {
    const last = lines[index + searchedLines.length - 1]
    return { start: lines[index]?.start ?? 0, end: last?.end ?? text.length }
  })
}

/** Where `searched` occurs in `lines` (Knuth, Morris and Pratt). It is not empty. `overlapping`: also from within another one. */
export function findSequences(lines: readonly string[], searched: readonly string[], overlapping = false): number[] {
  /** For each beginning of `searched`: the length of its longest proper beginning that is also its end. */
  const borders = [0]
  for (let at = 1, length = 0; at < searched.length; at++) {
    while (length > 0 && searched[at] !== searched[length]) length = borders[length - 1] ?? 0
    if (searched[at] === searched[length]) length += 1
    borders.push(length)
  }
  const starts: number[] = []
  let length = 0
  for (const [at, line] of lines.entries()) {
    while (length > 0 && line !== searched[length]) length = borders[length - 1] ?? 0
    if (line === searched[length]) length += 1
    if (length === searched.length) {
      starts.push(at + 1 - length)
      length = overlapping ? (borders[length - 1] ?? 0) : 0
    }
  }
  return starts
}

/** `end` is before the line break. */
function splitLines(text: string): { start: number; end: number; loose: string }[] {
  let start = 0
  return text.split('\n').map((line) => {
    const end = start + line.length - (line.endsWith('\r') ? 1 : 0)
    const candidate = { start, end, loose: toOneLine(line) }
    start += line.length + 1
    return candidate
  })
}

export const indentOf = (line: string) => /^[ \t]*/.exec(line)?.[0] ?? ''

function firstNonEmptyLine(text: string): string {
  const at = text.search(/\S/)
  return at === -1 ? '' : lineAround(text, at)
}

function lineAround(text: string, at: number): string {
  const end = text.indexOf('\n', at)
  return text.slice(text.lastIndexOf('\n', at) + 1, end === -1 ? text.length : end)
}

/** Adapts the indentation of the replacement to the lines that were found. Each indentation is computed once. */
function createReindent(replacement: string, searched: string, text: string): (range: TextRange) => string {
  const body = withoutEmptyLines(replacement)
  const searchedIndent = indentOf(firstNonEmptyLine(searched))
  const bodies = new Map([[searchedIndent, body]])
  return ({ start, end }) => {
    const indent = indentOf(firstNonEmptyLine(text.slice(start, end)))
    const known = bodies.get(indent)
    if (known !== undefined) return known
    const adapted = body
      .split('\n')
      .map((line) =>
        line.trim() === '' || !line.startsWith(searchedIndent) ? line : indent + line.slice(searchedIndent.length),
      )
      .join('\n')
    bodies.set(indent, adapted)
    return adapted
  }
}

/** Without the empty lines at the beginning and at the end, and without the last line break. */
function withoutEmptyLines(text: string): string {
  const first = text.search(/[^ \t\r\n]/)
  if (first === -1) return text.includes('\n') ? '' : text
  const start = text.lastIndexOf('\n', first) + 1
  let last = text.length
  while (' \t\r\n'.includes(text[last - 1] ?? 'x')) last -= 1
  const lineBreak = text.indexOf('\n', last)
  if (lineBreak === -1) return text.slice(start)
  return text.slice(start, text[lineBreak - 1] === '\r' ? lineBreak - 1 : lineBreak)
}

function notFoundMessage(text: string, search: string): string {
  const first = toOneLine(firstNonEmptyLine(search))
  const similarLine = splitLines(text).findIndex((line) => first !== '' && line.loose === first)
  const hint = similarLine < 0 ? '' : ` Its first line is at line ${similarLine + 1}, but what follows differs.`
  return `old_string was not found.${hint} Read the file again and copy the text exactly.`
}
