/**
 * The difference of two texts as a unified diff of bounded length, for people and for the model. The time is bounded, too: where
 * two texts differ in very many lines, the diff replaces all of these lines.
 */

export interface TextChange {
  /** Undefined for a file that did not exist. */
  readonly before: string | undefined
  /** Undefined for a file that is deleted. */
  readonly after: string | undefined
  /** Shown in the header. */
  readonly path: string
  /** The path before a move. */
  readonly oldPath?: string
}

const contextLines = 3
/** Myers' algorithm needs memory and time with the square of this. */
const maxEdits = 400
/** Longer texts take too long to split. */
const maxTextChars = 4 * 1024 * 1024

/**
 * Returns `--- a/path`, `+++ b/path` and hunks; '' for equal texts of the same name. A diff longer than `maxChars` ends with a line
 * in brackets that says how many lines are left out.
 */
export function unifiedDiff({ before, after, path, oldPath = path }: TextChange, maxChars: number): string {
  if (before === after && path === oldPath) return ''
  const header = `--- ${before === undefined ? '/dev/null' : `a/${oldPath}`}\n+++ ${after === undefined ? '/dev/null' : `b/${path}`}\n`
  const [old = '', now = ''] = [before, after]
  if (old === now) return header
  if (old.length + now.length > maxTextChars) return `${header}[the texts are too long to be compared]\n`
  return header + boundLines(hunksOf(compareLines(splitLines(old), splitLines(now))), maxChars - header.length)
}

/** Each with its line break. */
function splitLines(text: string): string[] {
  const lines = text.split('\n').map((line) => `${line}\n`)
  const last = lines.pop()?.slice(0, -1) ?? ''
  return last === '' ? lines : [...lines, last]
}

interface DiffLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
  /** Line numbers before it, in the old and in the new text. */
  readonly old: number
  readonly now: number
}

function compareLines(old: readonly string[], now: readonly string[]): DiffLine[] {
  const shorter = Math.min(old.length, now.length)
  let start = 0
  while (start < shorter && old[start] === now[start]) start += 1
  let end = 0
  while (end < shorter - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1
  const signs = editScript(old.slice(start, old.length - end), now.slice(start, now.length - end))
  const first = Math.max(0, start - contextLines)
  const lines: DiffLine[] = []
  let at = { old: first, now: first }
  const add = (sign: DiffLine['sign']) => {
    lines.push({ sign, text: (sign === '+' ? now[at.now] : old[at.old]) ?? '', ...at })
    at = { old: at.old + (sign === '+' ? 0 : 1), now: at.now + (sign === '-' ? 0 : 1) }
  }
  for (let count = first; count < start; count++) add(' ')
  for (const sign of signs) add(sign)
  for (let count = 0; count < Math.min(end, contextLines); count++) add(' ')
  return lines
}

/** The shortest edits that turn `a` into `b` (Myers 1986); with more than `maxEdits` all of `a` is replaced by all of `b`. */
function editScript(a: readonly string[], b: readonly string[]): DiffLine['sign'][] {
  const all = (): DiffLine['sign'][] => [...a.map(() => '-' as const), ...b.map(() => '+' as const)]
  if (a.length === 0 || b.length === 0) return all()
  const max = Math.min(maxEdits, a.length + b.length)
  const furthest = new Int32Array(2 * max + 3)
  const trace: Int32Array[] = []
  const offset = max + 1
  const at = (from: Int32Array, index: number) => from[index] ?? 0
  for (let edits = 0; edits <= max; edits++) {
    trace.push(furthest.slice())
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const [left, right] = [at(furthest, offset + diagonal - 1), at(furthest, offset + diagonal + 1)]
      let x = diagonal === -edits || (diagonal !== edits && left < right) ? right : left + 1
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1
      furthest[offset + diagonal] = x
      if (x >= a.length && x - diagonal >= b.length) return backtrack(a.length, b.length, trace, offset)
    }
  }
  return all()
}

/** Follows the furthest points back to the beginning of both texts. */
function backtrack(aLength: number, bLength: number, trace: readonly Int32Array[], offset: number): DiffLine['sign'][] {
  const signs: DiffLine['sign'][] = []
  let [x, y] = [aLength, bLength]
  for (const [edits, furthest] of [...trace.entries()].reverse()) {
    if (edits === 0) break
    const diagonal = x - y
    const [left, right] = [furthest[offset + diagonal - 1] ?? 0, furthest[offset + diagonal + 1] ?? 0]
    const inserts = diagonal === -edits || (diagonal !== edits && left < right)
    const [fromX, fromY] = inserts ? [right, right - diagonal - 1] : [left, left - diagonal + 1]
    for (let equal = inserts ? x - fromX : y - fromY; equal > 0; equal--) signs.push(' ')
    signs.push(inserts ? '+' : '-')
    ;[x, y] = [fromX, fromY]
  }
  for (; x > 0; x--) signs.push(' ')
  return signs.reverse()
}

/** The lines of the diff, with `@@` before each group of changes. */
function* hunksOf(lines: readonly DiffLine[]): Generator<string> {
  const changed = lines.flatMap(({ sign }, index) => (sign === ' ' ? [] : [index]))
  let at = 0
  while (at < changed.length) {
    let last = at
    while ((changed[last + 1] ?? Number.POSITIVE_INFINITY) - (changed[last] ?? 0) <= 2 * contextLines + 1) last += 1
    const hunk = lines.slice(Math.max(0, (changed[at] ?? 0) - contextLines), (changed[last] ?? 0) + contextLines + 1)
    const count = (without: DiffLine['sign']) => hunk.filter(({ sign }) => sign !== without).length
    const range = (from: number, length: number) =>
      `${length === 0 ? from : from + 1}${length === 1 ? '' : `,${length}`}`
    const [first] = hunk
    yield `@@ -${range(first?.old ?? 0, count('+'))} +${range(first?.now ?? 0, count('-'))} @@`
    for (const { sign, text } of hunk)
      yield text.endsWith('\n') ? sign + text.slice(0, -1) : `${sign}${text}\n\\ No newline at end of file`
    at = last + 1
  }
}

function boundLines(lines: Iterable<string>, maxChars: number): string {
  const context: string[] = []
  let chars = 0
  let left = 0
  for (const line of lines) {
    chars += line.length + 1
    if (left === 0 && chars <= maxChars - 60) context.push(line)
    else left += 1
  }
  if (left > 0) context.push(`[${left} more lines of the diff left out]`)
  return context.map((line) => `${line}\n`).join('')
}
