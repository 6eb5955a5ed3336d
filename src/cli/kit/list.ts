/**
 * Shows a list: as JSON for scripts, as a table, or as the sentence that says why it is empty.
 */
import type { CliContext } from './context.ts'
import { type Cell, createDisplay, type Display, reportEmptyList } from './display.ts'

export interface ListView<Row> {
  readonly json: boolean
  readonly rows: readonly Row[]
  /** What JSON shows of it, if it is not the rows. */
  readonly data?: unknown
  /** Says that there is nothing, and how that changes. */
  readonly empty: string
  readonly headings: readonly string[]
  cells(row: Row, display: Display): readonly Cell[]
  /** Printed below the table on a terminal, each after an empty line. */
  readonly notes?: readonly string[] | undefined
}

export function showList<Row>(
  context: CliContext,
  { json, rows, data = rows, empty, headings, cells, notes = [] }: ListView<Row>,
): void {
  const display = createDisplay(context.output, context.environment)
  if (json || rows.length === 0) {
    if (json) display.json(data)
    else reportEmptyList(context, empty)
    return
  }
  display.table(
    headings,
    rows.map((row) => cells(row, display)),
  )
  if (display.isTerminal) for (const note of notes) display.line(`\n${note}`)
}
