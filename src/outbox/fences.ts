/**
 * Finds the code fences of a Markdown text with their places in the source, in one pass over its lines.
 *
 * Not the Markdown parser: the splitter must know offsets, which parsers lose inside lists and quotes, and it must stay
 * linear and unbreakable whatever a model writes.
 */

export interface Fence {
  /** Where the opening line begins. */
  readonly start: number
  /** Where its code begins and ends, blank lines left out. */
  readonly codeStart: number
  readonly codeEnd: number
  /** Where the closing line begins; the end of the text when it is missing. */
  readonly shutAt: number
  /** Just after the closing line, without blanks at its end and its line break. */
  readonly end: number
  /** The line that opens the same fence again in the next message, and the one that closes it there. */
  readonly reopen: string
  readonly shutAgain: string
  /** The line that closes it at the end of the message that it begins in. */
  readonly shut: string
  /** Stands before each line of the body when the fence is quoted. */
  readonly quote: string
  /** Characters that each line of the body is indented by, because the fence stands in a list. */
  readonly indent: number
}

interface Line {
  readonly start: number
  readonly end: number
  /** Where the text begins after quote marks, list markers and blanks. */
  readonly text: number
  readonly quoted: boolean
  readonly listed: boolean
}

const marker = /(`{3,32}|~{3,32})(?![`~])([^\n]{0,100})$/y
const listMarker = /(?:[-*+]|\d{1,9}[.)])[ \t]/y
const longestPrefix = 80

export function findFences(text: string): Fence[] {
  if (!text.includes('```') && !text.includes('~~~')) return []
  const fences: Fence[] = []
  let open: Opening | undefined
  let inList = false
  for (let start = 0; start <= text.length; ) {
    const line = lineAt(text, start)
    start = line.end + 1
    if (open !== undefined) {
      const leftQuote = open.line.quoted && !line.quoted
      if (!leftQuote && !closes(text, line, open)) continue
      const end = leftQuote ? line.start - 1 : line.start + text.slice(line.start, line.end).trimEnd().length
      fences.push(finished(text, open, leftQuote ? end : line.start, end))
      open = undefined
      if (!leftQuote) continue
    }
    inList = line.listed || (inList && (line.text > line.start || line.text === line.end))
    open = openingOf(text, line, inList)
  }
  if (open !== undefined) fences.push(finished(text, open, text.length, text.length))
  return fences
}

function lineAt(text: string, start: number): Line {
  const newline = text.indexOf('\n', start)
  const end = newline === -1 ? text.length : newline
  let at = start
  let quoted = false
  let listed = false
  const limit = Math.min(end, start + longestPrefix)
  while (at < limit) {
    const char = text[at]
    if (char === '>') quoted = true
    if (char === ' ' || char === '\t' || char === '>') {
      at++
      continue
    }
    listMarker.lastIndex = at
    const [found] = listMarker.exec(text) ?? []
    if (found === undefined) break
    listed = true
    at += found.length
  }
  return { start, end, text: at, quoted, listed }
}

interface Opening {
  readonly line: Line
  readonly mark: string
  readonly info: string
}

function openingOf(text: string, line: Line, inList: boolean): Opening | undefined {
  const char = text[line.text]
  if (char !== '`' && char !== '~') return undefined
  // Four blanks outside a list make a block of indented code, where a fence means nothing.
  if (!inList && !line.quoted && indentOf(text, line) >= 4) return undefined
  marker.lastIndex = 0
  const found = marker.exec(text.slice(line.text, Math.min(line.end, line.text + 200)))
  const [, mark, info] = found ?? []
  if (mark === undefined || info === undefined || (char === '`' && info.includes('`'))) return undefined
  return { line, mark, info: info.trim() }
}

function closes(text: string, line: Line, { line: opening, mark }: Opening): boolean {
  const char = mark[0]
  if (line.listed || line.quoted !== opening.quoted || text[line.text] !== char) return false
  if (indentOf(text, line) > indentOf(text, opening) + 3) return false
  let at = line.text
  while (at < line.end && text[at] === char) at++
  return at - line.text >= mark.length && text.slice(at, line.end).trim() === ''
}

function indentOf(text: string, line: Line): number {
  let indent = 0
  for (let at = line.start; at < line.text; at++) indent += text[at] === '\t' ? 4 : 1
  return indent
}

function finished(text: string, { line, mark, info }: Opening, shutAt: number, end: number): Fence {
  const prefix = text.slice(line.start, line.text).replace(/[^>\t]/g, ' ')
  const quote = line.quoted ? `${prefix.trim()} ` : ''
  const blank = line.quoted ? ' \t\n>' : ' \t\n'
  const body = Math.min(line.end + 1, text.length)
  let codeEnd = shutAt
  while (codeEnd > body && blank.includes(text[codeEnd - 1] ?? '')) codeEnd--
  let codeStart = body
  while (codeStart < codeEnd && blank.includes(text[codeStart] ?? '')) codeStart++
  return {
    start: line.start,
    codeStart,
    codeEnd,
    shutAt,
    end,
    reopen: `${quote}${mark}${info}`,
    shutAgain: `${quote}${mark}`,
    quote,
    shut: `${prefix}${mark}`,
    indent: line.quoted ? 0 : prefix.length,
  }
}
