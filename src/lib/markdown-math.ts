/**
 * Finds LaTeX in Markdown: `\(…\)`, `\[…\]`, `$…$` and `$$…$$`. Markdown has no syntax for it, and would read emphasis and
 * escapes in a formula.
 */

export interface TextSpan {
  readonly start: number
  readonly end: number
}

/** Longer formulas are not recognised, so that the search takes a linear time. */
const maxFormulaChars = 2_000

export function mayContainMath(text: string): boolean {
  return text.includes('$') || text.includes('\\(') || text.includes('\\[')
}

/** The formulas of an inline text, in order. Offsets include the delimiters. */
export function findInlineMath(text: string): TextSpan[] {
  if (!mayContainMath(text)) return []
  const spans: TextSpan[] = []
  const closingAfter = createClosingSearch(text)
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (char !== '\\' && char !== '$') continue
    const end = formulaEnd(text, at, closingAfter)
    if (end !== undefined) {
      spans.push({ start: at, end })
      at = end - 1
    } else if (char === '\\' || text[at + 1] === '$') at += 1
  }
  return spans
}

/**
 * Where the text that follows may decide about a formula: its closing delimiter, or the character after it, is still missing.
 * `undefined` when the formulas of `text` stay the same whatever follows.
 */
export function findUndecidedMath(text: string): number | undefined {
  const closingAfter = createClosingSearch(text)
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (char !== '\\' && char !== '$') continue
    if (isUndecided(text, at, closingAfter)) return at
    const end = formulaEnd(text, at, closingAfter)
    if (end !== undefined) at = end - 1
    else if (char === '\\' || text[at + 1] === '$') at += 1
  }
  return undefined
}

function isUndecided(text: string, start: number, closingAfter: ClosingSearch): boolean {
  if (start === text.length - 1) return true
  const { opening, closing } = delimitersAt(text, start)
  if (closing === undefined) return false
  const from = start + opening.length
  const at = closingAfter(closing, from)
  if (isNear(at, from, closing)) return at + closing.length === text.length
  const window = text.slice(from, from + maxFormulaChars)
  const isLine = opening === '$'
  return (
    window.length < maxFormulaChars &&
    !/`|\n[ \t]*\n/.test(window) &&
    !(isLine && (/^\s|\n|\*\*|\]\(/.test(window) || /[\w$]/.test(text[start - 1] ?? '')))
  )
}

function delimitersAt(text: string, start: number): { opening: string; closing: string | undefined } {
  const opening = text[start] === '$' && text[start + 1] !== '$' ? '$' : text.slice(start, start + 2)
  return { opening, closing: closingOf.get(opening) }
}

function formulaEnd(
  text: string,
  start: number,
  closingAfter = createClosingSearch(text.slice(0, start + maxFormulaChars + 4)),
): number | undefined {
  const { opening, closing } = delimitersAt(text, start)
  if (closing === undefined) return undefined
  const from = start + opening.length
  const at = closingAfter(closing, from)
  if (!isNear(at, from, closing)) return undefined
  const formula = text.slice(from, at)
  const end = at + closing.length
  if (formula.trim() === '' || /`|\n[ \t]*\n/.test(formula)) return undefined
  return isFormula(opening, formula, text[start - 1] ?? '', text[end] ?? '') ? end : undefined
}

const closingOf: ReadonlyMap<string, string> = new Map([
  ['\\(', '\\)'],
  ['\\[', '\\]'],
  ['$$', '$$'],
  ['$', '$'],
])

/** Finds the first unescaped delimiter at or after `from`; -1 when there is none. */
type ClosingSearch = (closing: string, from: number) => number

/** Remembers the last result for each delimiter, so that a text of openings takes linear time. `from` must grow. */
function createClosingSearch(text: string): ClosingSearch {
  const known = new Map<string, { readonly from: number; readonly found: number }>()
  return (closing, from) => {
    const last = known.get(closing)
    if (last !== undefined && last.from <= from && (last.found === -1 || last.found >= from)) return last.found
    const position = indexOfUnescaped(text, closing, from)
    known.set(closing, { from, found: position })
    return position
  }
}

function isNear(at: number, from: number, closing: string): boolean {
  return at !== -1 && at + closing.length <= from + maxFormulaChars
}

function indexOfUnescaped(text: string, closing: string, from: number): number {
  for (let at = text.indexOf(closing, from); at !== -1; at = text.indexOf(closing, at + 1)) {
    let backslashes = 0
    while (at - backslashes > from && text[at - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return at
  }
  return -1
}

/** Prose in escaped brackets and amounts of money are no formulas. */
function isFormula(opening: string, formula: string, before: string, after: string): boolean {
  switch (opening) {
    case '\\[':
      return after !== '(' && !isProse(formula)
    case '$$':
      return after !== '$'
    case '$':
      return (
        !/[\w$]/.test(before) &&
        !/[\w$]/.test(after) &&
        !/^\s|\s$|\n/.test(formula) &&
        (!formula.includes(' ') || /[\\^_=<>+{}]/.test(formula)) &&
        !formula.includes('**') &&
        !formula.includes('](')
      )
    default:
      return !isProse(formula)
  }
}

/** Only words, at least one of them longer than a variable usually is. */
function isProse(formula: string): boolean {
  return /^[\p{L}\p{M}\d\s,.;:'’-]*$/u.test(formula) && /\p{L}{4}/u.test(formula)
}

/** A formula on its own lines at the start of `text`, with the line break; `undefined` when there is none. */
export function matchMathBlock(text: string): string | undefined {
  const [opening = ''] = /^ {0,3}(?:\$\$|\\\[)/.exec(text) ?? []
  if (opening === '') return undefined
  const start = opening.length - 2
  const end = formulaEnd(text, start)
  if (end === undefined) return undefined
  const [rest] = /^[ \t]*[.,;]?[ \t]*(?:\n|$)/.exec(text.slice(end, end + 100)) ?? []
  return rest === undefined ? undefined : text.slice(0, end + rest.length)
}

/** Looked at for the next formula. A paragraph ends at a blank line anyway. */
const maxParagraphChars = 5_000

/** The start of the next line of a paragraph that may begin with a formula of its own; -1 when there is none. */
export function findMathBlockStart(text: string): number {
  const near = text.slice(0, maxParagraphChars)
  const blankLine = near.indexOf('\n\n')
  const paragraph = blankLine === -1 ? near : near.slice(0, blankLine)
  const starts = ['$$', '\\['].map((opening) => lineStartingWith(paragraph, opening)).filter((start) => start !== -1)
  return starts.length === 0 ? -1 : Math.min(...starts)
}

/** The start of the first line, except the one at 0, that begins with `opening` after at most three blanks. */
function lineStartingWith(text: string, opening: string): number {
  for (let at = text.indexOf(opening); at !== -1; at = text.indexOf(opening, at + 1)) {
    let start = at
    while (text[start - 1] === ' ') start -= 1
    if (at - start <= 3 && text[start - 1] === '\n') return start
  }
  return -1
}
