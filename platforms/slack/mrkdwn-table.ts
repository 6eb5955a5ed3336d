/**
 * A table as a code block, its columns padded: Slack's text has no tables (contract §3.15).
 */
import { displayWidth } from './display-width.ts'

export type Align = 'left' | 'right' | 'center' | null

/** Plain text in; nothing in it is escaped yet. The first row is the head. */
export function drawTable(rows: readonly (readonly string[])[], aligns: readonly Align[]): string {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const cells = rows.map((row) => Array.from({ length: columns }, (_, at) => oneLine(row[at] ?? '')))
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(3, ...cells.map((row) => displayWidth(row[at] ?? ''))),
  )
  const lines = cells.map((row) =>
    row
      .map((cell, at) => pad(cell, widths[at] ?? 0, aligns[at] ?? null))
      .join(' | ')
      .trimEnd(),
  )
  const rule = widths.map((width) => '-'.repeat(width)).join('-|-')
  return [lines[0] ?? '', rule, ...lines.slice(1)].join('\n')
}

function pad(cell: string, width: number, align: Align): string {
  const room = Math.max(0, width - displayWidth(cell))
  const before = align === 'right' ? room : align === 'center' ? Math.floor(room / 2) : 0
  return `${' '.repeat(before)}${cell}${' '.repeat(room - before)}`
}

function oneLine(cell: string): string {
  return cell.replace(/\s+/g, ' ').trim()
}
