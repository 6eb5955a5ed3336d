/**
 * Finds texts in the output of a background command, and limits how often they are reported: at most once in 15 seconds. After
 * three such intervals in a row with more matches, and after 20 reports, nothing more is reported (contract S11, as Hermes).
 */
export interface OutputWatchOptions {
  /** Texts in a line. */
  readonly patterns: readonly string[]
  /** ms */
  readonly clock: () => number
  /** `number`: from 1. */
  onMatch(line: string, number: number): void
  /** Nothing more is reported. Called once at most. */
  onOff(): void
}

const minIntervalMs = 15_000
const maxStrikes = 3
const maxReports = 20
const maxLineChars = 4_000

/** Takes each piece of the output. A line is read when it is complete. */
export function createOutputWatch({ patterns, clock, onMatch, onOff }: OutputWatchOptions): (text: string) => void {
  let rest = ''
  let reports = 0
  let reportedAt = Number.NEGATIVE_INFINITY
  /** Intervals in a row with more matches than the reported one. */
  let strikes = 0
  let isStruck = false

  function count(line: string): void {
    const now = clock()
    if (now - reportedAt < minIntervalMs) {
      if (!isStruck) strikes += 1
      isStruck = true
    } else {
      if (!isStruck) strikes = 0
      isStruck = false
      reportedAt = now
      reports += 1
      onMatch(line, reports)
    }
    if (isOff()) onOff()
  }

  const isOff = () => strikes >= maxStrikes || reports >= maxReports

  return (text) => {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(-maxLineChars)
    for (const line of lines) if (!isOff() && patterns.some((pattern) => line.includes(pattern))) count(line)
  }
}
