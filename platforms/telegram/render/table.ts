/**
 * Tables, which Telegram does not know.
 */
import type { MarkedToken } from '#sdk'
import { displayWidth, escapeHtml, plainOf } from './text.ts'

type Table = Extract<MarkedToken, { type: 'table' }>
type Cell = Table['header'][number]

/** Wider than this breaks its lines on a phone. */
const tableWidth = 40

/** Drawn in a font of fixed width where that fits, else a group of lines for each row. */
export function tableHtml({ header, rows, align }: Table, inlineHtml: (tokens: Cell['tokens']) => string): string {
  const lines = [header, ...rows].map((row) => row.map(({ tokens }) => inlineHtml(tokens).replaceAll('\n', ' ')))
  const texts = lines.map((line) => line.map(plainOf))
  const widths = header.map((_, column) => Math.max(...texts.map((line) => displayWidth(line[column] ?? ''))))
  const total = widths.reduce((sum, width) => sum + width + 3, -3)
  return total <= tableWidth ? alignedTable(texts, widths, align) : groupedTable(lines)
}

function alignedTable(lines: readonly (readonly string[])[], widths: readonly number[], align: Table['align']): string {
  const rule = widths.map((width) => '-'.repeat(width)).join('-+-')
  const drawn = lines.map((line) =>
    widths
      .map((width, column) => {
        const text = line[column] ?? ''
        const room = width - displayWidth(text)
        const before = align[column] === 'right' ? room : align[column] === 'center' ? Math.floor(room / 2) : 0
        return `${' '.repeat(before)}${text}${' '.repeat(room - before)}`
      })
      .join(' | ')
      .trimEnd(),
  )
  const [head = '', ...body] = drawn
  return `<pre>${escapeHtml([head, rule, ...body].join('\n'))}</pre>`
}

/** One group of lines for each row, with the names of the columns in front. */
function groupedTable([header = [], ...rows]: readonly (readonly string[])[]): string {
  const groups = rows.map(([title = '', ...cells]) => {
    const facts = cells.flatMap((cell, index) => {
      const name = header[index + 1] ?? ''
      return cell === '' ? [] : [`• ${name === '' ? '' : `${name}: `}${cell}`]
    })
    return [...(title === '' ? [] : [`<b>${title}</b>`]), ...facts].join('\n')
  })
  return groups.length === 0 ? header.join(' | ') : groups.join('\n\n')
}
