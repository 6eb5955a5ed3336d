/**
 * Formats the output of commands: coloured tables on a terminal, one plain line per row elsewhere, JSON for scripts.
 *
 * Texts from chats and files pass through `table` or `toSingleLine`, which remove control characters.
 */

import { styleText } from 'node:util'
import type { ProcessEnvironment } from '../../config/environment.ts'
import { escapeJsonLine } from '../../lib/json.ts'
import type { Output } from '../../lib/terminal-streams.ts'
import { shorten, toSingleLine } from '../../lib/visible-text.ts'

export type Tone = 'good' | 'warn' | 'bad' | 'dim' | 'strong'
export type Cell = string | { readonly text: string; readonly tone: Tone }

export interface Display {
  /** The output is a terminal: times are short and long lines are truncated. */
  readonly isTerminal: boolean
  readonly hasColour: boolean
  /** The text must not contain control characters; see `toSingleLine`. */
  line(text?: string): void
  /** Adds colour where it is enabled. */
  tone(tone: Tone, text: string): string
  /** Rows under headings on a terminal. Elsewhere the cells of each row, separated by two spaces, with `-` for an empty cell. */
  table(headings: readonly string[], rows: readonly (readonly Cell[])[]): void
  /** Names with their values, not truncated. */
  fields(rows: readonly (readonly [name: string, value: Cell])[]): void
  json(value: unknown): void
  /** `at` in ms since 1970: local time to the minute on a terminal, otherwise ISO 8601. */
  formatTime(at: number): string
}

const toneFormats = { good: 'green', warn: 'yellow', bad: 'red', dim: 'dim', strong: 'bold' } as const
const columnGap = '  '

export function createDisplay(output: Output, environment: ProcessEnvironment): Display {
  const isTerminal = output.isTTY === true && environment['TERM'] !== 'dumb'
  const hasColour = isTerminal && (environment['NO_COLOR'] ?? '') === ''
  const width = output.columns ?? 80
  const tone = (name: Tone, text: string) =>
    hasColour && text !== '' ? styleText(toneFormats[name], text, { validateStream: false }) : text
  const line = (text = '') => {
    output.write(`${text}\n`)
  }

  function print(headings: readonly string[], rows: readonly (readonly Cell[])[], cutsLast: boolean): void {
    const plain = rows.map((row) => row.map((cell) => toSingleLine(typeof cell === 'string' ? cell : cell.text)))
    if (!isTerminal) {
      for (const cells of plain) line(cells.map((cell) => cell || '-').join(columnGap))
      return
    }
    const widths = columnWidths([headings, ...plain])
    const layout = (cells: readonly string[]) => padRow(cells, widths, cutsLast ? width : Number.POSITIVE_INFINITY)
    if (headings.length > 0 && rows.length > 0) line(tone('dim', layout(headings).join(columnGap).trimEnd()))
    for (const [index, cells] of plain.entries()) {
      const row = rows[index] ?? []
      const shown = layout(cells).map((text, column) => {
        const cell = row[column]
        return cell === undefined || typeof cell === 'string' ? text : tone(cell.tone, text)
      })
      line(shown.join(columnGap).trimEnd())
    }
  }

  return {
    isTerminal,
    hasColour,
    tone,
    line,
    table: (headings, rows) => print(headings, rows, true),
    fields: (rows) => print([], rows, false),
    json: (value) => line(escapeJsonLine(JSON.stringify(value, null, 2))),
    formatTime: (at) => (isTerminal ? formatLocalMinute(at) : new Date(at).toISOString()),
  }
}

function columnWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = []
  for (const cells of rows) {
    for (const [column, cell] of cells.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length)
  }
  return widths
}

/** The last column gets the rest of the line. */
function padRow(cells: readonly string[], widths: readonly number[], width: number): string[] {
  const before = widths.slice(0, -1).reduce((sum, column) => sum + column + columnGap.length, 0)
  return cells.map((cell, column) =>
    column < widths.length - 1 ? cell.padEnd(widths[column] ?? 0) : shorten(cell, Math.max(20, width - before)),
  )
}

/**
 * Says that a list is empty: on a terminal in place of the list, elsewhere on stderr, so that scripts read no row and people
 * see that the command worked.
 */
export function reportEmptyList(
  { output, errors }: { readonly output: Output; readonly errors: Output },
  text: string,
): void {
  const target = output.isTTY === true ? output : errors
  target.write(`${text}\n`)
}

function formatLocalMinute(at: number): string {
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}
