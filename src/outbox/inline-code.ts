/**
 * Finds inline code, so that a message is not cut between two backticks and no media tag is read from code.
 */

/**
 * The start of the inline code that contains the cut at `at`; `undefined` when the cut is outside of inline code.
 * `text` may be a window of a longer text that starts outside of code and ends well after the cut.
 */
export function findInlineCodeStart(text: string, at: number): number | undefined {
  const before = text.lastIndexOf('\n\n', at - 1)
  const after = text.indexOf('\n\n', at)
  const paragraph = before === -1 ? 0 : before
  const runs = [...text.slice(paragraph, after === -1 ? text.length : after).matchAll(/`+/g)].map((match) => ({
    start: paragraph + match.index,
    end: paragraph + match.index + match[0].length,
  }))
  const partners = matchBacktickRuns(runs)
  for (let index = 0; index < runs.length; index++) {
    const run = runs[index]
    const partner = partners[index]
    if (run === undefined || run.start >= at) return undefined
    if (partner === undefined) continue
    if ((runs[partner]?.end ?? 0) > at) return run.start
    index = partner
  }
  return undefined
}

export interface TextRange {
  readonly start: number
  readonly end: number
}

/** For each run of backticks, the index of the next run of the same length. */
function matchBacktickRuns(runs: readonly TextRange[]): (number | undefined)[] {
  const nextOfLength = new Map<number, number>()
  const partners: (number | undefined)[] = []
  for (let index = runs.length - 1; index >= 0; index--) {
    const run = runs[index]
    if (run === undefined) continue
    const length = run.end - run.start
    partners[index] = nextOfLength.get(length)
    nextOfLength.set(length, index)
  }
  return partners
}

/** The inline code of one paragraph. Offsets refer to `text`. */
export function findInlineCode(text: string) {
  const runs = [...text.matchAll(/`+/g)].map(({ index, 0: run }) => ({ start: index, end: index + run.length }))
  const partners = matchBacktickRuns(runs)
  /** The inline code including its backticks, in order. */
  const spans: TextRange[] = []
  /** The start of the first run of backticks without a partner: more text may turn it into code. */
  let unclosedStart: number | undefined
  for (let index = 0; index < runs.length; index++) {
    const run = runs[index]
    const partner = partners[index]
    const closing = partner === undefined ? undefined : runs[partner]
    if (run === undefined) continue
    if (partner === undefined || closing === undefined) {
      unclosedStart ??= run.start
      continue
    }
    spans.push({ start: run.start, end: closing.end })
    index = partner
  }
  return { spans, unclosedStart }
}
