/**
 * Finds the inline code around a place, so that a message is not cut between two backticks.
 */

/**
 * Where the inline code that holds the cut before `at` begins, or undefined when the cut stands in none.
 * Looks at `text` alone: give it a window that starts outside of code and ends well after the cut.
 */
export function findInlineCodeStart(text: string, at: number): number | undefined {
  const before = text.lastIndexOf('\n\n', at - 1)
  const after = text.indexOf('\n\n', at)
  const paragraph = before === -1 ? 0 : before
  const runs = [...text.slice(paragraph, after === -1 ? text.length : after).matchAll(/`+/g)].map((found) => ({
    start: paragraph + found.index,
    end: paragraph + found.index + found[0].length,
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

/** For each run of backticks the index of the next one of the same length. */
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

export interface CodeSpans {
  /** Where inline code begins and ends, backticks included, in order. */
  readonly spans: readonly TextRange[]
  /** The first run of backticks that is no code yet, and becomes some if its like follows. */
  readonly unclosedStart: number | undefined
}

/** The inline code of one paragraph, with places as in `text`. */
export function findInlineCode(text: string): CodeSpans {
  const runs = [...text.matchAll(/`+/g)].map(({ index, 0: run }) => ({ start: index, end: index + run.length }))
  const partners = matchBacktickRuns(runs)
  const spans: TextRange[] = []
  let unclosedStart: number | undefined
  for (let index = 0; index < runs.length; index++) {
    const run = runs[index]
    const partner = partners[index]
    const shut = partner === undefined ? undefined : runs[partner]
    if (run === undefined) continue
    if (partner === undefined || shut === undefined) {
      unclosedStart ??= run.start
      continue
    }
    spans.push({ start: run.start, end: shut.end })
    index = partner
  }
  return { spans, unclosedStart }
}
