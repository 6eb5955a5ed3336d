/**
 * Shows how far a batch is: on a terminal one line that is drawn again, elsewhere a line each ten seconds.
 */

import { formatDuration } from '../../lib/duration.ts'
import type { Output } from '../../lib/terminal-streams.ts'
import type { BatchResult } from './result-file.ts'

export interface BatchProgress {
  started(): void
  /** A prompt that was started has a result. */
  ended(result: Pick<BatchResult, 'status' | 'usage'>): void
  /** Writes a whole line, which stays. */
  note(text: string): void
  /** Removes the line of a terminal. May be called twice. */
  close(): void
}

export interface ProgressOptions {
  readonly errors: Output
  readonly total: number
  /** The prompts that an earlier run has done. */
  readonly done: number
  readonly failed: number
  readonly clock: () => number
  /** Calls repeatedly until the returned function is called. */
  readonly every: (ms: number, call: () => void) => () => void
}

const redrawMs = 1_000
const lineMs = 10_000
const clearLine = '\r\u001b[K'

export function openProgress({ errors, total, clock, every, ...earlier }: ProgressOptions): BatchProgress {
  const isTerminal = errors.isTTY === true
  const startedAt = clock()
  let { done, failed } = earlier
  let running = 0
  let tokens = 0
  const redraw = () => {
    if (isTerminal) errors.write(`${clearLine}${describe().slice(0, Math.max(20, (errors.columns ?? 80) - 1))}`)
  }
  const stop = every(isTerminal ? redrawMs : lineMs, () => {
    if (isTerminal) redraw()
    else errors.write(`hermes: ${describe()}\n`)
  })

  return {
    started() {
      running += 1
      redraw()
    },
    ended({ status, usage }) {
      running -= 1
      if (status === 'done') done += 1
      else failed += 1
      tokens += usage.input_tokens + usage.output_tokens
      redraw()
    },
    note(text) {
      errors.write(`${isTerminal ? clearLine : ''}hermes: ${text}\n`)
      redraw()
    },
    close() {
      stop()
      if (isTerminal) errors.write(clearLine)
    },
  }

  function describe(): string {
    const answered = done + failed - earlier.done - earlier.failed
    const waiting = total - done - failed - running
    const elapsed = clock() - startedAt
    const left = answered === 0 ? '' : `, about ${formatDuration((elapsed / answered) * (total - done - failed))} left`
    return `${done} of ${total} done, ${failed} failed, ${running} running, ${waiting} waiting, ${tokens} tokens, ${formatDuration(elapsed)}${left}`
  }
}
