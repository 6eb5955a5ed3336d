/**
 * What a search has found, by file.
 */
import { asArray, asNumber, asRecord, asString, isRecord } from '../../lib/json.ts'
import type { ToolViewPart } from '../../message/tool-view.ts'
import type { ViewBudget } from './view-budget.ts'

type MatchesPart = Extract<ToolViewPart, { kind: 'matches' }>
interface Match {
  readonly path: string
  readonly line: number
  readonly text: string
  readonly isContext: boolean
}

/** `matches`: lines as `path:12:text` (`path-12-text` for context), or a list of objects. */
export function matchParts(matches: unknown, pattern: string, budget: ViewBudget): readonly MatchesPart[] {
  const results = typeof matches === 'string' ? parseLines(matches) : asArray(matches).flatMap(toMatch)
  const byPath = Map.groupBy(budget.list(results), ({ path }) => path)
  const marks = literalsOf(pattern)
  return [...byPath].map(([path, lines]) => ({
    kind: 'matches',
    path: budget.line(path),
    marks,
    lines: lines.map(({ line, text, isContext }) => {
      return { line, text: budget.head(text), ...(isContext ? { isContext: true as const } : {}) }
    }),
  }))
}

/** Names with line breaks, or a list of names or of objects with a path. */
export function filesPart(files: unknown, budget: ViewBudget): ToolViewPart {
  const names =
    typeof files === 'string'
      ? files.split('\n').filter((name) => name !== '')
      : asArray(files).map((file) => (isRecord(file) ? asString(file['path'] ?? file['name']) : String(file)))
  return { kind: 'files', files: budget.list(names).map((name) => budget.line(name)) }
}

function parseLines(text: string): readonly Match[] {
  const matches: Match[] = []
  for (const line of text.split('\n')) {
    const hit = /^(.+?):(\d+):(.*)$/s.exec(line)
    const context = hit === null ? contextLine(line, matches.at(-1)?.path) : undefined
    if (hit !== null) matches.push({ path: hit[1] ?? '', line: Number(hit[2]), text: hit[3] ?? '', isContext: false })
    else if (context !== undefined) matches.push(context)
  }
  return matches
}

function contextLine(line: string, path: string | undefined): Match | undefined {
  const context = /^(.+?)-(\d+)-(.*)$/s.exec(line)
  if (context === null) return undefined
  // A path may have a number between dashes, too.
  const isSame = path !== undefined && line.startsWith(`${path}-`)
  const match = isSame ? /^(\d+)-(.*)$/s.exec(line.slice(path.length + 1)) : null
  if (match !== null) return { path: path ?? '', line: Number(match[1]), text: match[2] ?? '', isContext: true }
  return { path: context[1] ?? '', line: Number(context[2]), text: context[3] ?? '', isContext: true }
}

function toMatch(value: unknown): readonly Match[] {
  const { path, file, line, line_number: number, text, content } = asRecord(value)
  const name = asString(path ?? file)
  if (name === '') return []
  return [{ path: name, line: asNumber(line ?? number), text: asString(text ?? content), isContext: false }]
}

const minMarkChars = 2
const maxMarks = 8

/**
 * The texts that a match of a regular expression contains, as far as they can be read from it. The expression itself is never run:
 * it may take for ever.
 */
export function literalsOf(pattern: string): readonly string[] {
  const literals: string[] = []
  let current = ''
  const end = () => {
    if (current.length >= minMarkChars) literals.push(current)
    current = ''
  }
  for (let at = 0; at < pattern.length && at < 1_000; at += 1) {
    const character = pattern.charAt(at)
    if (character === '\\') {
      const escaped = pattern.charAt(at + 1)
      at += 1
      if (/[^\w\s]/.test(escaped)) current += escaped
      else end()
    } else if ('?*{'.includes(character)) {
      // What comes before may be absent.
      current = current.slice(0, -1)
      end()
      if (character === '{') at = closing(pattern, at, '}')
    } else if (character === '[') {
      end()
      at = closing(pattern, at, ']')
    } else if ('.+^$|()'.includes(character)) end()
    else current += character
  }
  end()
  return [...new Set(literals)].slice(0, maxMarks)
}

function closing(pattern: string, from: number, character: string): number {
  const at = pattern.indexOf(character, from + 2)
  return at === -1 ? pattern.length : at
}
