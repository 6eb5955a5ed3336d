/**
 * How much of a result a view shows. Texts keep their beginning, or both of their ends.
 */
import { stripTerminalEscapes, toOneLine, toVisibleText } from '../../lib/visible-text.ts'

export interface ViewLimits {
  /** Limits the lines of one text. */
  readonly maxLines: number
  readonly maxChars: number
  readonly maxLineChars: number
  /** Limits the items of one list. */
  readonly maxItems: number
}

export const shortView: ViewLimits = { maxLines: 120, maxChars: 12_000, maxLineChars: 1_000, maxItems: 60 }
export const wholeView: ViewLimits = {
  maxLines: 50_000,
  maxChars: 2_000_000,
  maxLineChars: 2_000_000,
  maxItems: 5_000,
}

export interface ViewBudget {
  /** Whether something was cut. */
  isCut(): boolean
  /** One line, for names and titles. */
  line(text: string): string
  /** The beginning of a text. */
  head(text: string): string
  /** The beginning and the end of a text, because the end of an output says how it went. */
  ends(text: string): string
  list<Item>(items: readonly Item[]): readonly Item[]
}

const maxNameChars = 500

/** @param withhold takes the secrets out of a text; it gets whole texts, because a part of a secret is not found */
export function createViewBudget(limits: ViewLimits, withhold: (text: string) => string): ViewBudget {
  const { maxLines, maxChars, maxLineChars, maxItems } = limits
  let cut = false

  const clean = (text: string) => toVisibleText(stripTerminalEscapes(withhold(text)), { keepsMarks: true })

  const cutLine = (line: string) => {
    if (line.length <= maxLineChars) return line
    cut = true
    return `${line.slice(0, maxLineChars).toWellFormed()} … ${line.length - maxLineChars} more characters`
  }

  return {
    isCut: () => cut,
    line(text) {
      const line = toOneLine(clean(text))
      return line.length <= maxNameChars ? line : `${line.slice(0, maxNameChars).toWellFormed()} …`
    },
    head(text) {
      const lines = clean(text).split(/\r?\n/)
      const shown = takeLines(lines, maxLines, maxChars, cutLine)
      if (shown.length < lines.length) cut = true
      return shown.join('\n')
    },
    ends(text) {
      const lines = clean(text)
        .replace(/\n+$/, '')
        .split('\n')
        .map((line) => lastRewrite(line))
      const head = takeLines(lines, Math.ceil(maxLines * 0.6), maxChars * 0.6, cutLine)
      const rest = lines.slice(head.length)
      if (rest.length === 0) return head.join('\n')
      const tail = takeLines(rest.toReversed(), Math.floor(maxLines * 0.4), maxChars * 0.4, cutLine).reverse()
      const hidden = rest.length - tail.length
      if (hidden > 0) cut = true
      return [
        ...head,
        ...(hidden > 0 ? [`… ${hidden} ${hidden === 1 ? 'line' : 'lines'} not shown …`] : []),
        ...tail,
      ].join('\n')
    },
    list(items) {
      if (items.length <= maxItems) return items
      cut = true
      return items.slice(0, maxItems)
    },
  }
}

/** At least one line, and as many as fit. */
function takeLines(
  lines: readonly string[],
  maxLines: number,
  maxChars: number,
  cutLine: (line: string) => string,
): string[] {
  const taken: string[] = []
  let chars = 0
  for (const line of lines) {
    if (taken.length >= maxLines) break
    if (taken.length > 0 && chars + Math.min(line.length, maxChars) > maxChars) break
    const shown = cutLine(line)
    chars += shown.length + 1
    taken.push(shown)
  }
  return taken
}

/** Programs write a line again after a carriage return, for example a bar of progress. The last writing counts. */
function lastRewrite(line: string): string {
  const written = line.endsWith('\r') ? line.slice(0, -1) : line
  return written.slice(written.lastIndexOf('\r') + 1)
}
