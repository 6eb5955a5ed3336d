/**
 * The difference of two texts as a unified diff of bounded length, for people and for the model. The time is bounded, too: where
 * two texts differ in very many lines, the diff replaces all lines.
 */
import { structuredPatch } from 'diff'

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
  const options = { context: contextLines, maxEditLength: maxEdits }
  const patch = structuredPatch('', '', old, now, undefined, undefined, options)
  const hunks = patch?.hunks ?? [replaceAll(linesOf(old, '-'), linesOf(now, '+'))]
  return header + boundLines(hunks.flatMap(renderHunk), maxChars - header.length)
}

type Hunk = ReturnType<typeof structuredPatch>['hunks'][number]

function replaceAll(removed: readonly string[], added: readonly string[]): Hunk {
  const count = (lines: readonly string[]) => lines.filter((line) => !line.startsWith('\\')).length
  const lines = [...removed, ...added]
  return { oldStart: 1, oldLines: count(removed), newStart: 1, newLines: count(added), lines }
}

function linesOf(text: string, sign: '-' | '+'): string[] {
  if (text === '') return []
  const lines = text.split('\n').map((line) => sign + line)
  return text.endsWith('\n') ? lines.slice(0, -1) : [...lines, '\\ No newline at end of file']
}

function renderHunk({ oldStart, oldLines, newStart, newLines, lines }: Hunk): string[] {
  return [`@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`, ...lines]
}

/** An empty range begins after the line before it. */
function range(start: number, count: number): string {
  return `${count === 0 ? Math.max(0, start - 1) : start}${count === 1 ? '' : `,${count}`}`
}

function boundLines(lines: readonly string[], maxChars: number): string {
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
