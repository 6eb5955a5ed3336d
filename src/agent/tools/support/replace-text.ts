/**
 * Replaces a part of a text. Falls back to matching whole lines without regard to spaces, because models often write wrong
 * indentation.
 */

export type ReplaceTextResult =
  /** `lines`: the line numbers of the replaced parts in the old text, from 1. */
  | { readonly ok: true; readonly text: string; readonly lines: readonly number[]; readonly exact: boolean }
  /** `reason` tells the model what to change. */
  | { readonly ok: false; readonly code: 'unchanged' | 'not_found' | 'ambiguous'; readonly reason: string }

/** `search` is not empty. Converts the line breaks of `search` and `replacement` to those of the text. */
export function replaceText(text: string, search: string, replacement: string, all: boolean): ReplaceTextResult {
  const ending = text.includes('\r\n') ? '\r\n' : '\n'
  const searched = withLineEnding(search, ending)
  const inserted = withLineEnding(replacement, ending)
  if (searched === inserted)
    return { ok: false, code: 'unchanged', reason: 'old_string and new_string are the same; nothing to do.' }
  const exact = findExactMatches(text, searched)
  const ranges = exact.length > 0 ? exact : findLooseMatches(text, searched)
  const lines = ranges.map((range) => lineNumberAt(text, range.start))
  if (ranges.length === 0) return { ok: false, code: 'not_found', reason: notFoundMessage(text, search) }
  if (ranges.length > 1 && !all) {
    const lineList = `lines ${lines.slice(0, 20).join(', ')}${lines.length > 20 ? ' …' : ''}`
    return {
      ok: false,
      code: 'ambiguous',
      reason: `old_string occurs ${ranges.length} times (${lineList}). Add lines around it, or set replace_all.`,
    }
  }
  let result = ''
  let end = 0
  for (const range of ranges) {
    const piece = exact.length > 0 ? inserted : reindent(inserted, searched, text, range)
    result += text.slice(end, range.start) + piece
    // Removing whole lines removes their line break, too.
    const takesBreak = piece === '' && exact.length === 0 && text.startsWith(ending, range.end)
    end = takesBreak ? range.end + ending.length : range.end
  }
  return { ok: true, text: result + text.slice(end), lines, exact: exact.length > 0 }
}

interface TextRange {
  readonly start: number
  readonly end: number
}

const withLineEnding = (text: string, ending: string) => text.replace(/\r?\n/g, ending)

function lineNumberAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line += 1
  return line
}

function findExactMatches(text: string, searched: string): TextRange[] {
  const ranges: TextRange[] = []
  for (let at = text.indexOf(searched); at >= 0; at = text.indexOf(searched, at + searched.length)) {
    ranges.push({ start: at, end: at + searched.length })
  }
  return ranges
}

const collapseWhitespace = (line: string) => line.trim().replace(/\s+/g, ' ')

/** Sequences of whole lines that equal the searched lines when spaces are ignored. They do not overlap. */
function findLooseMatches(text: string, searched: string): TextRange[] {
  const searchedLines = searched.split('\n').map(collapseWhitespace)
  while (searchedLines.at(-1) === '') searchedLines.pop()
  while (searchedLines[0] === '') searchedLines.shift()
  if (searchedLines.length === 0) return []
  const lines = splitLines(text)
  const ranges: TextRange[] = []
  for (let first = 0; first + searchedLines.length <= lines.length; first++) {
    if (!searchedLines.every((line, index) => lines[first + index]?.loose === line)) continue
    const last = lines[first + searchedLines.length - 1]
    ranges.push({ start: lines[first]?.start ?? 0, end: last?.end ?? text.length })
    first += searchedLines.length - 1
  }
  return ranges
}

/** `end` is before the line break. */
function splitLines(text: string): { start: number; end: number; loose: string }[] {
  let start = 0
  return text.split('\n').map((line) => {
    const end = start + line.length - (line.endsWith('\r') ? 1 : 0)
    const found = { start, end, loose: collapseWhitespace(line) }
    start += line.length + 1
    return found
  })
}

const indentOf = (line: string) => /^[ \t]*/.exec(line)?.[0] ?? ''
const firstNonEmptyLine = (text: string) => text.split('\n').find((line) => line.trim() !== '') ?? ''

/** Adapts the indentation of the replacement to the lines that were found. */
function reindent(replacement: string, searched: string, text: string, { start, end }: TextRange): string {
  const body = replacement.replace(/^(?:[ \t]*\r?\n)+/, '').replace(/\r?\n[ \t\r\n]*$/, '')
  const searchedIndent = indentOf(firstNonEmptyLine(searched))
  const found = indentOf(firstNonEmptyLine(text.slice(start, end)))
  if (searchedIndent === found) return body
  return body
    .split('\n')
    .map((line) =>
      line.trim() === '' || !line.startsWith(searchedIndent) ? line : found + line.slice(searchedIndent.length),
    )
    .join('\n')
}

function notFoundMessage(text: string, search: string): string {
  const first = collapseWhitespace(firstNonEmptyLine(search))
  const similarLine = splitLines(text).findIndex((line) => first !== '' && line.loose === first)
  const hint = similarLine < 0 ? '' : ` Its first line is at line ${similarLine + 1}, but what follows differs.`
  return `old_string was not found.${hint} Read the file again and copy the text exactly.`
}
