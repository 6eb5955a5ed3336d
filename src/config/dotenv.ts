/**
 * Parses the text of a `.env` file with line numbers, which `util.parseEnv` does not report. Nothing is expanded or executed.
 * An invalid line is reported and skipped.
 */

export interface DotenvEntry {
  readonly value: string
  /** Counts from 1. */
  readonly line: number
}

interface DotenvIssue {
  readonly line: number
  /** Never quotes the line, because it may contain a secret. */
  readonly message: string
}

/** Limits the lines of one value. A longer one has no closing quote. */
const maxLines = 500

const assignmentPattern = /^[ \t]*(?:export[ \t]+)?(?<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/

/**
 * `NAME=value`, with an optional `export`; `#` begins a comment at the start of a line and after a blank.
 * `'...'` is literal; `"..."` supports \n \r \t \" \\ \$; both may span several lines. Never throws.
 */
export function parseDotenv(text: string) {
  /** The last entry of a name wins. */
  const entries = new Map<string, DotenvEntry>()
  const issues: DotenvIssue[] = []
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  for (let index = 0; index < lines.length; index++) {
    const line = index + 1
    const current = lines[index] ?? ''
    if (/^[ \t]*(?:#|$)/.test(current)) continue
    const match = assignmentPattern.exec(current)
    const name = match?.groups?.['name']
    if (match === null || name === undefined) {
      issues.push({ line, message: 'expected NAME=value' })
      continue
    }
    const value = parseValue(lines, index, current.slice(match[0].length))
    if (typeof value === 'string') {
      issues.push({ line, message: `${name}: ${value}` })
      continue
    }
    entries.set(name, { value: value.text, line })
    index = value.lastIndex
  }
  return { entries, issues }
}

interface ParsedValue {
  readonly text: string
  /** Index of the last line of the value. */
  readonly lastIndex: number
}

/** Returns the value that begins with `rest`, or the message of an issue. */
function parseValue(lines: readonly string[], index: number, rest: string): ParsedValue | string {
  const quote = rest.charAt(0)
  if (quote !== '"' && quote !== "'") {
    const text = rest.replace(/(?:^|[ \t])#.*$/, '').trim()
    return text.includes('\0') ? 'the value contains a control character' : { text, lastIndex: index }
  }
  let text = ''
  let segment = rest.slice(1)
  for (let at = index; at < Math.min(lines.length, index + maxLines); at++) {
    if (at > index) {
      segment = lines[at] ?? ''
      text += '\n'
    }
    const end = closingQuote(segment, quote)
    if (end === -1) {
      text += segment
      continue
    }
    if (!/^[ \t]*(?:#.*)?$/.test(segment.slice(end + 1))) return 'unexpected text after the closing quote'
    text += segment.slice(0, end)
    return { text: quote === '"' ? unescapeValue(text) : text, lastIndex: at }
  }
  return `the closing ${quote} is missing`
}

function closingQuote(segment: string, quote: string): number {
  if (quote === "'") return segment.indexOf(quote)
  for (let at = 0; at < segment.length; at++) {
    if (segment[at] === '\\') at += 1
    else if (segment[at] === quote) return at
  }
  return -1
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' }

function unescapeValue(text: string): string {
  return text.replace(/\\(.)/gs, (whole, letter: string) => escapes[letter] ?? whole)
}
