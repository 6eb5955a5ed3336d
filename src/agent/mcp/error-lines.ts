/**
 * What a server writes to its error output: to the log, within limits, and the lines that explain a failure for an error message.
 */
import type { Logger } from '../../lib/log.ts'
import { cleanText } from './names.ts'

export interface ErrorLines {
  add(line: string): void
  /**
   * A sentence with the first line, the first line that names an error, and the last lines; '' for none. Begins with a space.
   * A program that dies with a stack trace writes the reason before many lines, or after them.
   */
  summary(): string
}

const maxLineChars = 500
const maxLast = 2
const maxLinesPerMinute = 120

/** Lines that name an error: `Error: …`, `ModuleNotFoundError: …`, `fatal: …`, `bwrap: …: No such file`. */
const namesError = /\b(?:\w*(?:error|exception)|fatal|panic(?:ked)?)\b\W|no such|not found|denied|cannot|can't|failed/i
/** Lines of a stack trace or of the source around an error say nothing to a person. */
const isTrace = /^(?:at .*\d\)?|File ".*|\^[\s^~]*|[{}[\]();,]+|throw \w+;?|Node\.js v[\d.]+|Traceback .*)$/

interface WrittenLine {
  readonly number: number
  readonly text: string
}

export function createErrorLines(server: string, log: Logger): ErrorLines {
  let first: WrittenLine | undefined
  let reason: WrittenLine | undefined
  let last: WrittenLine[] = []
  let written = 0
  let windowStart = 0
  let count = 0
  return {
    add(raw) {
      const line = cleanText(raw, maxLineChars).trim()
      if (line === '') return
      if (!isTrace.test(line)) {
        written += 1
        const added = { number: written, text: line }
        first ??= added
        if (reason === undefined && namesError.test(line)) reason = added
        last = [...last, added].slice(-maxLast)
      }
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
    summary() {
      const shown = [...new Set([first, reason, ...last])].filter((line) => line !== undefined)
      const texts = shown
        .sort((a, b) => a.number - b.number)
        .map(({ number, text }, index) => (number > (shown[index - 1]?.number ?? 0) + 1 ? `… | ${text}` : text))
      return texts.length === 0 ? '' : ` It wrote: ${texts.join(' | ')}`
    },
  }
}
