/**
 * Escapes the formulas of a Markdown text for a reader that knows only standard Markdown, which would read `\(` as `(`, `\\` as
 * `\` and `_` as emphasis. The rest of the text stays unchanged. Code contains no formulas.
 */
import { findInlineMath, findUndecidedMath, mayContainMath, type TextSpan } from './markdown-math.ts'
import { findProse, type Prose } from './markdown-prose.ts'

/**
 * @param isPartial The text will grow. The result then ends before the first character that depends on the text that follows,
 *   so that it is the start of every later result.
 */
export function escapeMathIn(text: string, isPartial: boolean): string {
  if (!mayContainMath(text) && !(isPartial && text.endsWith('\\'))) return text
  let escaped = ''
  let at = 0
  for (const prose of findProse(text, isPartial)) {
    const part = text.slice(prose.start, prose.end)
    const isGrowing = isPartial && prose.end === text.length
    const code = findCodeSpans(part, isGrowing)
    const spans = findInlineMath(part).filter(({ start }) => !isInside(start, code.spans))
    const end = isGrowing ? decidedEnd(part, spans, code) : part.length
    for (const span of spans.filter(({ start }) => start < end)) {
      escaped += text.slice(at, prose.start + span.start)
      escaped += escapeFormula(part.slice(span.start, Math.min(span.end, end)), prose)
      at = prose.start + Math.min(span.end, end)
    }
    if (end < part.length) return escaped + text.slice(at, prose.start + end)
  }
  return escaped + text.slice(at)
}

function isInside(position: number, spans: readonly TextSpan[]): boolean {
  return spans.some(({ start, end }) => position >= start && position < end)
}

function decidedEnd(part: string, spans: readonly TextSpan[], code: CodeSpans): number {
  const undecided = findUndecidedMath(part)
  const starts = undecided === undefined || isInside(undecided, code.spans) ? [] : [undecided]
  // It may be in a code span.
  const maybeCode = spans.find(({ start }) => start > code.openAt)
  if (maybeCode !== undefined) starts.push(maybeCode.start)
  if (starts.length === 0) return part.length
  const from = Math.min(...starts)
  const length = part.slice(from).search(mayNeedEscape)
  return length === -1 ? part.length : from + length
}

/** A superset of what `escapeFormula` escapes. A marker may follow a line break. */
const mayNeedEscape = /[\\*_~[\]<&\n]/

/** Characters with a meaning in a line, and markers of blocks at the start of a line. */
function escapeFormula(formula: string, { isQuoted }: Prose): string {
  const markers = isQuoted ? quotedMarkers : lineMarkers
  return formula
    .replace(/[\\*_~[\]<]|&(?=#?\w+;)/g, '\\$&')
    .replace(markers, '$1\\')
    .replace(/^([ \t>]*\d{1,9})(?=[.)](?:[ \t]|$))/gm, '$1\\')
}

const lineMarkers = /^([ \t]*)(?=[-+][ \t]|-+[ \t]*$|=+[ \t]*$|#{1,6}(?:[ \t]|$)|>)/gm
const quotedMarkers = /^([ \t>]*)(?=[-+][ \t]|-+[ \t]*$|=+[ \t]*$|#{1,6}(?:[ \t]|$))/gm

interface CodeSpans {
  readonly spans: readonly TextSpan[]
  /** The first backtick that may still begin a code span. */
  readonly openAt: number
}

/** A code span ends at the next run of as many backticks as it begins with, as in CommonMark. */
function findCodeSpans(text: string, isGrowing: boolean): CodeSpans {
  const runs = [...text.matchAll(/`+/g)]
    .map(({ index, 0: { length } }) => ({ start: index, end: index + length, length }))
    // The last run may still grow.
    .map((run) => (isGrowing && run.end === text.length ? { ...run, length: 0 } : run))
  const lastOfLength = new Map(runs.map(({ length }, index) => [length, index]))
  const spans: TextSpan[] = []
  let openAt = Number.POSITIVE_INFINITY
  for (let index = 0; index < runs.length; index += 1) {
    const run = runs[index]
    if (run === undefined || isEscaped(text, run.start)) continue
    if ((lastOfLength.get(run.length) ?? index) <= index) {
      openAt = Math.min(openAt, isGrowing ? run.start : openAt)
      continue
    }
    const closing = runs.findIndex(({ length }, at) => at > index && length === run.length)
    spans.push({ start: run.start, end: runs[closing]?.end ?? run.end })
    index = closing
  }
  return { spans, openAt }
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text[at - 1 - backslashes] === '\\') backslashes += 1
  return backslashes % 2 === 1
}
