/**
 * Reads the text of a `.env` file. Nothing is expanded or executed; a line that cannot be read is named and skipped.
 */

export interface DotenvEntry {
  readonly value: string
  /** Counts from 1. */
  readonly line: number
}

interface DotenvProblem {
  readonly line: number
  /** Never quotes the line: it may hold a secret. */
  readonly message: string
}

export interface Dotenv {
  /** The last entry of a name wins. */
  readonly entries: ReadonlyMap<string, DotenvEntry>
  readonly problems: readonly DotenvProblem[]
}

/** A longer value is a forgotten quote. */
const maxLines = 500

const assignment = /^[ \t]*(?:export[ \t]+)?(?<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/

/**
 * `NAME=value`, with an optional `export`; `#` begins a comment at the start of a line and after a blank.
 * `'…'` is taken as it is; `"…"` knows \n \r \t \" \\ \$; both may go over several lines. Never throws.
 */
export function parseDotenv(text: string): Dotenv {
  const entries = new Map<string, DotenvEntry>()
  const problems: DotenvProblem[] = []
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  for (let index = 0; index < lines.length; index++) {
    const line = index + 1
    const current = lines[index] ?? ''
    if (/^[ \t]*(?:#|$)/.test(current)) continue
    const match = assignment.exec(current)
    const name = match?.groups?.['name']
    if (match === null || name === undefined) {
      problems.push({ line, message: 'expected NAME=value' })
      continue
    }
    const value = readValue(lines, index, current.slice(match[0].length))
    if (typeof value === 'string') {
      problems.push({ line, message: `${name}: ${value}` })
      continue
    }
    entries.set(name, { value: value.text, line })
    index = value.lastIndex
  }
  return { entries, problems }
}

interface Value {
  readonly text: string
  /** Index of the line on which it ends. */
  readonly lastIndex: number
}

/** The value that begins with `rest`, or what is wrong with it. */
function readValue(lines: readonly string[], index: number, rest: string): Value | string {
  const quote = rest.charAt(0)
  if (quote !== '"' && quote !== "'") {
    const text = rest.replace(/(?:^|[ \t])#.*$/, '').trim()
    return text.includes('\0') ? 'a control character: this is not a text' : { text, lastIndex: index }
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
    if (!/^[ \t]*(?:#.*)?$/.test(segment.slice(end + 1))) return 'something follows the closing quote'
    text += segment.slice(0, end)
    return { text: quote === '"' ? unescaped(text) : text, lastIndex: at }
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

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (whole, letter: string) => escapes[letter] ?? whole)
}
