/**
 * Tables, which Telegram does not know.
 */
import { formatTable, type MarkedToken, type TableStyle, tableWidth } from '#sdk'
import { escapeHtml, stripHtml } from './escape.ts'

type Table = Extract<MarkedToken, { type: 'table' }>
type Cell = Table['header'][number]

/** Wider than this breaks its lines on a phone. */
const maxTableWidth = 40
const tableStyle: TableStyle = { columnSeparator: ' | ', ruleCharacter: '-', ruleSeparator: '-+-' }

/** Drawn in a font of fixed width where that fits, else a group of lines for each row. */
export function tableHtml({ header, rows, align }: Table, inlineHtml: (tokens: Cell['tokens']) => string): string {
  const lines = [header, ...rows].map((row) => row.map(({ tokens }) => inlineHtml(tokens).replaceAll('\n', ' ')))
  const texts = lines.map((line) => line.map(stripHtml))
  if (tableWidth(texts, tableStyle) > maxTableWidth) return tableAsList(lines)
  return `<pre>${escapeHtml(formatTable(texts, align, tableStyle).join('\n'))}</pre>`
}

/** One group of lines for each row, with the names of the columns in front. */
function tableAsList([header = [], ...rows]: readonly (readonly string[])[]): string {
  const groups = rows.map(([title = '', ...cells]) => {
    const facts = cells.flatMap((cell, index) => {
      const name = header[index + 1] ?? ''
      return cell === '' ? [] : [`• ${name === '' ? '' : `${name}: `}${cell}`]
    })
    return [...(title === '' ? [] : [`<b>${title}</b>`]), ...facts].join('\n')
  })
  return groups.length === 0 ? header.join(' | ') : groups.join('\n\n')
}
