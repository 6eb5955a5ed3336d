/**
 * Renders Markdown as Slack's markup (mrkdwn). Every `<`, `>` and `&` of the text is escaped, so that `<!channel>` and `<@U…>`
 * mention no one.
 */
import { formatTable, isMathToken, type MarkedToken, type TableStyle, tableHasLinks } from '#sdk'

/** Slack has no tables, so they become code blocks (contract §3.15). */
const tableStyle: TableStyle = { columnSeparator: ' | ', ruleCharacter: '-', ruleSeparator: '-|-', minColumnWidth: 3 }

/** @param tokens the result of `parseMarkdown` */
export function toMrkdwn(tokens: readonly MarkedToken[]): string {
  return renderBlocks(tokens, 0).trim()
}

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** A link for web, mail and phone URLs, otherwise the label followed by the URL. */
export function renderLinkMarkup(address: string, label: string): string {
  const words = escapeText(label.replace(/\s+/g, ' ').trim()).replaceAll('|', '¦')
  if (!/^(https?:\/\/|mailto:|tel:)/i.test(address)) {
    const plain = escapeText(address)
    return words === '' || words === plain ? plain : `${words} (${plain})`
  }
  const target = address.replace(/[<>|\s]/g, (letter) => encodeURIComponent(letter)).replaceAll('&', '&amp;')
  return words === '' || words === target ? `<${target}>` : `<${target}|${words}>`
}

/** Deeper blocks are shown unformatted. */
const maxDepth = 24

function renderBlocks(tokens: readonly MarkedToken[], depth: number): string {
  let text = ''
  let before: MarkedToken['type'] | undefined
  for (const token of tokens) {
    const block = renderBlock(token, depth)
    if (block === '') continue
    // There is no empty line between a heading and its text.
    if (text !== '') text += before === 'heading' ? '\n' : '\n\n'
    text += block
    before = token.type
  }
  return text
}

function renderBlock(token: MarkedToken, depth: number): string {
  if (depth > maxDepth) return escapeText(token.raw.trim())
  switch (token.type) {
    case 'paragraph':
      return renderInline(token.tokens)
    case 'text':
      return token.tokens === undefined ? escapeText(token.text) : renderInline(token.tokens)
    case 'heading':
      return wrapLines('*', renderInline(token.tokens, { bold: true }))
    case 'code':
      return codeBlock(token.text)
    case 'blockquote':
      return quoteLines(renderBlocks(markedTokens(token.tokens), depth + 1))
    case 'list':
      return token.items
        .map((item, index) => {
          const bullet = token.ordered ? `${Number(token.start || 1) + index}.` : '•'
          const box = item.task ? (item.checked === true ? '☑ ' : '☐ ') : ''
          return `${bullet} ${box}${indentLines(renderListItem(markedTokens(item.tokens), depth + 1))}`
        })
        .join('\n')
    case 'table':
      return tableHasLinks(token) ? renderTableAsList(token) : renderTable(token)
    case 'escape':
      return token.text.includes('\n') ? codeBlock(token.text) : renderInline([token])
    case 'hr':
      return '──────────'
    case 'html':
      return escapeText(token.text.trim())
    case 'space':
    case 'def':
    case 'checkbox':
      return ''
    default:
      return renderInline([token])
  }
}

type Table = Extract<MarkedToken, { type: 'table' }>

function renderTable({ header, rows, align }: Table): string {
  const cells = [header, ...rows].map((row) => row.map(({ tokens }) => oneLine(plainText(markedTokens(tokens)))))
  return codeBlock(formatTable(cells, align, tableStyle).join('\n'))
}

/** Links do not work in a code block, so each row becomes a group of lines with the column names as labels. */
function renderTableAsList({ header, rows }: Table): string {
  const names = header.map(({ tokens }) => oneLine(renderInline(tokens)))
  const groups = rows.map((row) => {
    const [title = '', ...cells] = row.map(({ tokens }, index) =>
      oneLine(renderInline(tokens, index === 0 ? { bold: true } : {})),
    )
    const lines = cells.flatMap((cell, index) => {
      const name = names[index + 1] ?? ''
      return cell === '' ? [] : [`• ${name === '' ? '' : `${name}: `}${cell}`]
    })
    return [...(title === '' ? [] : [wrapLines('*', title)]), ...lines].join('\n')
  })
  return groups.length === 0 ? names.join(' | ') : groups.join('\n\n')
}

/** The text of an item, followed by nested lists. */
function renderListItem(tokens: readonly MarkedToken[], depth: number): string {
  return tokens
    .map((token) => renderBlock(token, depth))
    .filter((block) => block !== '')
    .join('\n')
}

interface InlineStyle {
  /** The text is bold already. Another `*` would end it. */
  readonly bold?: boolean
}

/** A part of a line. Slack needs a separator around markers. */
interface InlinePart {
  readonly text: string
  readonly hasMarkers: boolean
}

function renderInline(tokens: readonly unknown[] | undefined, style: InlineStyle = {}): string {
  const parts = markedTokens(tokens).map((token) => renderInlineToken(token, style))
  let text = ''
  let open = false
  for (const part of parts) {
    if (part.text === '') continue
    // Slack recognises a marker only next to a space or punctuation. An invisible space is sufficient.
    const needsSpace =
      (part.hasMarkers || open) && /[\p{L}\p{N}*_~`]$/u.test(text) && /^[\p{L}\p{N}*_~`]/u.test(part.text)
    text += needsSpace ? `\u200B${part.text}` : part.text
    open = part.hasMarkers
  }
  return text
}

function renderInlineToken(token: MarkedToken, style: InlineStyle): InlinePart {
  switch (token.type) {
    case 'strong':
      return style.bold === true
        ? { text: renderInline(token.tokens, style), hasMarkers: false }
        : { text: wrapLines('*', renderInline(token.tokens, { ...style, bold: true })), hasMarkers: true }
    case 'em':
      return { text: wrapLines('_', renderInline(token.tokens, style)), hasMarkers: true }
    case 'del':
      return { text: wrapLines('~', renderInline(token.tokens, style)), hasMarkers: true }
    case 'codespan':
      return renderCode(token.text)
    case 'link':
      return {
        text: renderLinkMarkup(token.href, plainText(markedTokens(token.tokens)) || token.text),
        hasMarkers: false,
      }
    case 'image':
      return {
        text: renderLinkMarkup(token.href, token.text === '' ? fileNameOf(token.href) : token.text),
        hasMarkers: false,
      }
    case 'br':
      return { text: '\n', hasMarkers: false }
    case 'escape':
      // A formula may contain markers of Slack, which cannot be escaped.
      return isMathToken(token) && /[*_~]/.test(token.text)
        ? renderCode(token.text)
        : { text: escapeText(token.text), hasMarkers: false }
    case 'text':
      return {
        text: token.tokens === undefined ? escapeText(token.text) : renderInline(token.tokens, style),
        hasMarkers: false,
      }
    case 'html':
      return { text: escapeText(token.text), hasMarkers: false }
    default:
      return { text: escapeText(token.raw), hasMarkers: false }
  }
}

function renderCode(text: string): InlinePart {
  return { text: `\`${escapeText(text.replaceAll('`', 'ˋ'))}\``, hasMarkers: true }
}

/** The text without formatting, not escaped. */
function plainText(tokens: readonly MarkedToken[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'br') return ' '
      if ('tokens' in token && token.tokens !== undefined && token.tokens.length > 0)
        return plainText(markedTokens(token.tokens))
      return 'text' in token ? token.text : token.raw
    })
    .join('')
}

/** Adds markers to each line, because they do not span lines in Slack. */
function wrapLines(marker: string, text: string): string {
  return text
    .split('\n')
    .map((line) => {
      const words = line.trim()
      if (words === '') return line
      const [before = '', after = ''] = line.split(words, 2)
      return `${before}${marker}${words}${marker}${after}`
    })
    .join('\n')
}

function codeBlock(code: string): string {
  return `\`\`\`\n${escapeText(code.replaceAll('```', '`\u200B``'))}\n\`\`\``
}

/** Slack has no nested quotes, so the mark of an inner quote is text. */
function quoteLines(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${line.replace(/^>/, '&gt;')}`)
    .join('\n')
}

function indentLines(text: string): string {
  return text.replaceAll('\n', '\n    ')
}

function fileNameOf(address: string): string {
  return address.split(/[?#]/, 1)[0]?.split('/').pop() || 'image'
}

/** Narrows the loosely typed children of tokens. */
function markedTokens(tokens: readonly unknown[] | undefined): MarkedToken[] {
  return (tokens ?? []).filter(isToken)
}

function isToken(value: unknown): value is MarkedToken {
  return typeof value === 'object' && value !== null && 'type' in value && 'raw' in value
}

function oneLine(cell: string): string {
  return cell.replace(/\s+/g, ' ').trim()
}
