/**
 * Finds the code fences of a Markdown text and their offsets, in one pass over its lines.
 *
 * It does not use the Markdown parser. The splitter needs offsets in the source, which the tokens of `marked` lose inside
 * lists and quotes, and drafts are scanned at each update: for 20 kB, the parser's blocks alone take seven times as long as
 * the whole split.
 */

export interface CodeFence {
  /** The start of the opening line. */
  readonly start: number
  /** The start and the end of the code, without blank lines. */
  readonly codeStart: number
  readonly codeEnd: number
  /** The start of the closing line; the end of the text when it is missing. */
  readonly closeStart: number
  /** The end of the closing line, without trailing blanks and its line break. */
  readonly end: number
  /** The lines that reopen the fence in the next message and close it there. */
  readonly reopenLine: string
  readonly recloseLine: string
  /** The line that closes the fence in the message that it begins in. */
  readonly closeLine: string
  /** The prefix of each line of the body when the fence is quoted. */
  readonly quotePrefix: string
  /** The number of characters by which the lines of the body are indented, because the fence is in a list. */
  readonly indent: number
}

interface MarkdownLine {
  readonly start: number
  readonly end: number
  /** The start of the text after quote marks, list markers and blanks. */
  readonly textStart: number
  readonly isQuoted: boolean
  readonly isListItem: boolean
}

const fencePattern = /(`{3,32}|~{3,32})(?![`~])([^\n]{0,100})$/y
const listMarkerPattern = /(?:[-*+]|\d{1,9}[.)])[ \t]/y
const maxPrefixChars = 80

export function findCodeFences(text: string): CodeFence[] {
  if (!text.includes('```') && !text.includes('~~~')) return []
  const fences: CodeFence[] = []
  let open: FenceOpening | undefined
  let inList = false
  for (let start = 0; start <= text.length; ) {
    const line = lineAt(text, start)
    start = line.end + 1
    if (open !== undefined) {
      const leftQuote = open.line.isQuoted && !line.isQuoted
      if (!leftQuote && !isClosingLine(text, line, open)) continue
      const end = leftQuote ? line.start - 1 : line.start + text.slice(line.start, line.end).trimEnd().length
      fences.push(toCodeFence(text, open, leftQuote ? end : line.start, end))
      open = undefined
      if (!leftQuote) continue
    }
    inList = line.isListItem || (inList && (line.textStart > line.start || line.textStart === line.end))
    open = parseOpening(text, line, inList)
  }
  if (open !== undefined) fences.push(toCodeFence(text, open, text.length, text.length))
  return fences
}

function lineAt(text: string, start: number): MarkdownLine {
  const newline = text.indexOf('\n', start)
  const end = newline === -1 ? text.length : newline
  let at = start
  let isQuoted = false
  let isListItem = false
  const limit = Math.min(end, start + maxPrefixChars)
  while (at < limit) {
    const char = text[at]
    if (char === '>') isQuoted = true
    if (char === ' ' || char === '\t' || char === '>') {
      at++
      continue
    }
    listMarkerPattern.lastIndex = at
    const [marker] = listMarkerPattern.exec(text) ?? []
    if (marker === undefined) break
    isListItem = true
    at += marker.length
  }
  return { start, end, textStart: at, isQuoted, isListItem }
}

interface FenceOpening {
  readonly line: MarkdownLine
  readonly marker: string
  readonly info: string
}

function parseOpening(text: string, line: MarkdownLine, inList: boolean): FenceOpening | undefined {
  const char = text[line.textStart]
  if (char !== '`' && char !== '~') return undefined
  // Outside of lists, an indentation of four blanks makes a code block, in which a fence is plain text.
  if (!inList && !line.isQuoted && indentOf(text, line) >= 4) return undefined
  fencePattern.lastIndex = 0
  const match = fencePattern.exec(text.slice(line.textStart, Math.min(line.end, line.textStart + 200)))
  const [, marker, info] = match ?? []
  if (marker === undefined || info === undefined || (char === '`' && info.includes('`'))) return undefined
  return { line, marker, info: info.trim() }
}

function isClosingLine(text: string, line: MarkdownLine, { line: opening, marker }: FenceOpening): boolean {
  const char = marker[0]
  if (line.isListItem || line.isQuoted !== opening.isQuoted || text[line.textStart] !== char) return false
  if (indentOf(text, line) > indentOf(text, opening) + 3) return false
  let at = line.textStart
  while (at < line.end && text[at] === char) at++
  return at - line.textStart >= marker.length && text.slice(at, line.end).trim() === ''
}

function indentOf(text: string, line: MarkdownLine): number {
  let indent = 0
  for (let at = line.start; at < line.textStart; at++) indent += text[at] === '\t' ? 4 : 1
  return indent
}

function toCodeFence(text: string, { line, marker, info }: FenceOpening, closeStart: number, end: number): CodeFence {
  const prefix = text.slice(line.start, line.textStart).replace(/[^>\t]/g, ' ')
  const quotePrefix = line.isQuoted ? `${prefix.trim()} ` : ''
  const blank = line.isQuoted ? ' \t\n>' : ' \t\n'
  const body = Math.min(line.end + 1, text.length)
  let codeEnd = closeStart
  while (codeEnd > body && blank.includes(text[codeEnd - 1] ?? '')) codeEnd--
  let codeStart = body
  while (codeStart < codeEnd && blank.includes(text[codeStart] ?? '')) codeStart++
  return {
    start: line.start,
    codeStart,
    codeEnd,
    closeStart,
    end,
    reopenLine: `${quotePrefix}${marker}${info}`,
    recloseLine: `${quotePrefix}${marker}`,
    quotePrefix,
    closeLine: `${prefix}${marker}`,
    indent: line.isQuoted ? 0 : prefix.length,
  }
}
