/**
 * Finds a piece of text and replaces it: exactly if it is there, otherwise line by line without regard to spaces, since
 * models often get the indentation wrong.
 */

export type ReplaceTextResult =
  /** `lines`: where the replaced pieces began, in the old text, from 1. */
  | { readonly ok: true; readonly text: string; readonly lines: readonly number[]; readonly exact: boolean }
  /** `reason` is for the model: what to do to be understood. */
  | { readonly ok: false; readonly reason: string }

/** `old` is not empty. Line breaks of `old` and `fresh` are turned into those of the text. */
export function replaceText(text: string, old: string, fresh: string, all: boolean): ReplaceTextResult {
  const ending = text.includes('\r\n') ? '\r\n' : '\n'
  const wanted = withLineEnding(old, ending)
  const replacement = withLineEnding(fresh, ending)
  if (wanted === replacement) return { ok: false, reason: 'old_string and new_string are the same; nothing to do.' }
  const exact = findExactMatches(text, wanted)
  const places = exact.length > 0 ? exact : findLooseMatches(text, wanted)
  const lines = places.map((place) => lineNumberAt(text, place.start))
  if (places.length === 0) return { ok: false, reason: notFoundMessage(text, old) }
  if (places.length > 1 && !all) {
    const where = `lines ${lines.slice(0, 20).join(', ')}${lines.length > 20 ? ' …' : ''}`
    return {
      ok: false,
      reason: `old_string occurs ${places.length} times (${where}). Add lines around it, or set replace_all.`,
    }
  }
  let result = ''
  let end = 0
  for (const place of places) {
    const piece = exact.length > 0 ? replacement : reindent(replacement, wanted, text, place)
    result += text.slice(end, place.start) + piece
    // Whole lines that are replaced by nothing take their line break with them.
    const takesBreak = piece === '' && exact.length === 0 && text.startsWith(ending, place.end)
    end = takesBreak ? place.end + ending.length : place.end
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

function findExactMatches(text: string, wanted: string): TextRange[] {
  const places: TextRange[] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    places.push({ start: at, end: at + wanted.length })
  }
  return places
}

const collapseWhitespace = (line: string) => line.trim().replace(/\s+/g, ' ')

/** Runs of whole lines that equal the wanted ones when spaces are ignored. They do not overlap. */
function findLooseMatches(text: string, wanted: string): TextRange[] {
  const wantedLines = wanted.split('\n').map(collapseWhitespace)
  while (wantedLines.at(-1) === '') wantedLines.pop()
  while (wantedLines[0] === '') wantedLines.shift()
  if (wantedLines.length === 0) return []
  const lines = splitLines(text)
  const places: TextRange[] = []
  for (let first = 0; first + wantedLines.length <= lines.length; first++) {
    if (!wantedLines.every((line, index) => lines[first + index]?.loose === line)) continue
    const last = lines[first + wantedLines.length - 1]
    places.push({ start: lines[first]?.start ?? 0, end: last?.end ?? text.length })
    first += wantedLines.length - 1
  }
  return places
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

/** Shifts the replacement by what the found lines are indented more, or less, than the wanted ones. */
function reindent(replacement: string, wanted: string, text: string, { start, end }: TextRange): string {
  const body = replacement.replace(/^(?:[ \t]*\r?\n)+/, '').replace(/\r?\n[ \t\r\n]*$/, '')
  const given = indentOf(firstNonEmptyLine(wanted))
  const found = indentOf(firstNonEmptyLine(text.slice(start, end)))
  if (given === found) return body
  return body
    .split('\n')
    .map((line) => (line.trim() === '' || !line.startsWith(given) ? line : found + line.slice(given.length)))
    .join('\n')
}

function notFoundMessage(text: string, old: string): string {
  const first = collapseWhitespace(firstNonEmptyLine(old))
  const near = splitLines(text).findIndex((line) => first !== '' && line.loose === first)
  const hint = near < 0 ? '' : ` Its first line is at line ${near + 1}, but what follows differs.`
  return `old_string was not found.${hint} Read the file again and copy the text exactly.`
}
