/**
 * What a server writes to its error output: to the log, within limits, and the last lines for an error message.
 */
import type { Logger } from '../../lib/log.ts'
import { cleanText } from './names.ts'

export interface ErrorLines {
  add(line: string): void
  /** The last lines as one; '' for none. */
  last(): string
  /** A sentence with the last lines; '' for none. Begins with a space. */
  summary(): string
}

const maxLineChars = 500
const maxKept = 3
const maxLinesPerMinute = 120

export function createErrorLines(server: string, log: Logger): ErrorLines {
  const kept: string[] = []
  let windowStart = 0
  let count = 0
  const last = () => kept.join(' | ')
  return {
    add(raw) {
      const line = cleanText(raw, maxLineChars).trim()
      if (line === '') return
      kept.push(line)
      if (kept.length > maxKept) kept.shift()
      const now = performance.now()
      if (now - windowStart > 60_000) [windowStart, count] = [now, 0]
      count += 1
      if (count < maxLinesPerMinute) log.info({ event: 'mcp.stderr', server, line }, 'an MCP server wrote a line')
      else if (count === maxLinesPerMinute)
        log.warn(
          { event: 'mcp.stderr_muted', server },
          'an MCP server writes too many lines; the rest of this minute is left out',
        )
    },
    last,
    summary: () => (kept.length === 0 ? '' : ` It wrote: ${last()}`),
  }
}
