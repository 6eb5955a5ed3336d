/**
 * Renders tables, for which Telegram has no markup.
 */
import { formatTable, type MarkedToken, type TableStyle, tableHasLinks, tableWidth } from '#sdk'
import { escapeHtml, stripHtml } from './escape.ts'

type Table = Extract<MarkedToken, { type: 'table' }>
type Cell = Table['header'][number]

/** Wider lines wrap on a phone. */
const maxTableWidth = 40
const tableStyle: TableStyle = { columnSeparator: ' | ', ruleCharacter: '-', ruleSeparator: '-+-' }

/** A monospaced table if it is narrow enough and has no links, otherwise a group of lines for each row. */
export function tableHtml(table: Table, inlineHtml: (tokens: Cell['tokens']) => string): string {
  const { header, rows, align } = table
  const htmlRows = [header, ...rows].map((row) => row.map(({ tokens }) => inlineHtml(tokens).replaceAll('\n', ' ')))
  const texts = htmlRows.map((row) => row.map(stripHtml))
  if (tableHasLinks(table)) return tableAsList(htmlRows)
  if (tableWidth(texts, tableStyle) > maxTableWidth) return tableAsList(htmlRows)
  return `<pre>${escapeHtml(formatTable(texts, align, tableStyle).join('\n'))}</pre>`
}

/** One group of lines for each row, with the column names as labels. */
function tableAsList([header = [], ...rows]: readonly (readonly string[])[]): string {
  const groups = rows.map(([title = '', ...cells]) => {
    const entries = cells.flatMap((cell, index) => {
      const name = header[index + 1] ?? ''
      return cell === '' ? [] : [`• ${name === '' ? '' : `${name}: `}${cell}`]
    })
    return [...(title === '' ? [] : [`<b>${title}</b>`]), ...entries].join('\n')
  })
  return groups.length === 0 ? header.join(' | ') : groups.join('\n\n')
}
