/**
 * Prints one line per result, ratios first.
 */
import { type Row, ratioOf, verdictOf } from './figure.ts'

/** The rows as a table for people. */
export function tableOf(rows: readonly Row[]): string {
  const head = ['figure', 'ratio', 'measured', 'bar', 'verdict', 'baseline']
  const body = rows.map((row) => [
    row.name,
    ratioText(row),
    row.measured === undefined ? '' : amount(row.measured, row),
    row.bar === undefined ? '' : `${row.atLeast === true ? '≥' : '≤'} ${amount(row.bar, row)}`,
    verdictOf(row),
    row.baseline === undefined ? '' : `${amount(row.baseline.value, row)} ${row.baseline.what}`,
  ])
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((cells) => cells[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column === 1 || column === 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  const lines = body.flatMap((cells, index) => {
    const note = rows[index]?.note
    return note === undefined ? [line(cells)] : [line(cells), `    ${note}`]
  })
  return [line(head), ...lines].join('\n')
}

function ratioText(row: Row): string {
  const ratio = ratioOf(row)
  return ratio === undefined ? '' : `${ratio.toFixed(2)}×`
}

function amount(value: number, { unit }: Row): string {
  const digits =
    Math.abs(value) >= 100 || unit === 'bytes' || unit === 'events' || unit === 'texts'
      ? 0
      : Math.abs(value) >= 10
        ? 1
        : 2
  return `${value.toFixed(digits)} ${unit}`
}

/** The rows for scripts, one JSON object per line. */
export function jsonOf(rows: readonly Row[]): string {
  return rows.map((row) => JSON.stringify({ ...row, verdict: verdictOf(row), ratio: ratioOf(row) ?? null })).join('\n')
}
