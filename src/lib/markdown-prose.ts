/**
 * Finds the paragraphs of a Markdown text by its lines, without a parser, so that a growing text keeps the paragraphs it has.
 * A paragraph here is text between blank lines and blocks of code; lists, tables and quotes are not told apart.
 */
export interface Prose {
  readonly start: number
  readonly end: number
  /** Its lines begin with `>`. */
  readonly isQuoted: boolean
}

interface Fence {
  readonly mark: string
  readonly isQuoted: boolean
}

const fenceStart = /^((?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(?:(`{3,})[^`]*|(~{3,}).*)$/
const listItem = /^[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/

/** `isPartial`: the text will grow. */
export function findProse(text: string, isPartial: boolean): readonly Prose[] {
  const parts: Prose[] = []
  let fence: Fence | undefined
  let start: number | undefined
  let isInList = false
  let isIndentedCode = false
  const endAt = (end: number) => {
    if (start !== undefined) parts.push({ start, end, isQuoted: /^[ \t]*>/.test(text.slice(start, start + 10)) })
    start = undefined
  }

  for (const { line, at, isComplete } of linesOf(text)) {
    // A quote ends its code.
    if (fence?.isQuoted === true && !/^[ \t]*>/.test(line)) fence = undefined
    if (fence !== undefined) {
      if (closes(line, fence.mark)) fence = undefined
      continue
    }
    fence = readFence(line, isPartial && !isComplete)
    if (fence !== undefined) {
      endAt(at)
      isInList ||= listItem.test(line)
    } else if (/^[ \t>]*$/.test(line) && isComplete) {
      endAt(at)
      isIndentedCode = false
    } else if (start === undefined) {
      const isIndented = /^(?: {4}| {0,3}\t)/.test(line)
      isIndentedCode = isIndented && !isInList
      if (isIndentedCode) continue
      isInList = listItem.test(line) || (isInList && /^[ \t]/.test(line))
      start = at
    } else isInList ||= listItem.test(line)
  }
  endAt(text.length)
  return parts
}

/** A line of backticks is the start of code only if no other backticks follow. */
function readFence(line: string, isGrowing: boolean): Fence | undefined {
  const [, prefix = '', backticks, tildes] = fenceStart.exec(line) ?? []
  const mark = isGrowing ? tildes : (backticks ?? tildes)
  return mark === undefined ? undefined : { mark, isQuoted: prefix.includes('>') }
}

function closes(line: string, mark: string): boolean {
  const closing = line.replace(/^[ \t>]*/, '').trimEnd()
  return closing.length >= mark.length && closing === mark.charAt(0).repeat(closing.length)
}

function* linesOf(text: string): Generator<{ line: string; at: number; isComplete: boolean }> {
  let at = 0
  while (at < text.length) {
    const end = text.indexOf('\n', at)
    yield { line: text.slice(at, end === -1 ? undefined : end), at, isComplete: end !== -1 }
    if (end === -1) return
    at = end + 1
  }
}
