/**
 * Markdown as Slack's own markup (mrkdwn). Whatever the model wrote, `<!channel>` and `<@U…>` of its text reach nobody:
 * every `<`, `>` and `&` that is not ours is escaped.
 */
import { drawTable, type MarkedToken, type TableStyle } from '#sdk'

/** Slack's text has no tables: they are code blocks (contract §3.15). */
const tableStyle: TableStyle = { between: ' | ', rule: '-', crossing: '-|-', leastWidth: 3 }

/** The blocks of a message, as `parseMarkdown` gives them. */
export function toMrkdwn(tokens: readonly MarkedToken[]): string {
  return blocks(tokens, 0).trim()
}

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** A link that Slack draws as one; only addresses that lead somewhere outside. Else the words, and the address beside them. */
export function link(address: string, label: string): string {
  const words = escapeText(label.replace(/\s+/g, ' ').trim()).replaceAll('|', '¦')
  if (!/^(https?:\/\/|mailto:|tel:)/i.test(address)) {
    const plain = escapeText(address)
    return words === '' || words === plain ? plain : `${words} (${plain})`
  }
  const target = address.replace(/[<>|\s]/g, (letter) => encodeURIComponent(letter)).replaceAll('&', '&amp;')
  return words === '' || words === target ? `<${target}>` : `<${target}|${words}>`
}

/** Nested deeper than this, text is shown as it was written. */
const maxDepth = 24

function blocks(tokens: readonly MarkedToken[], depth: number): string {
  let text = ''
  let before: MarkedToken['type'] | undefined
  for (const token of tokens) {
    const block = drawBlock(token, depth)
    if (block === '') continue
    // A heading belongs to what follows it.
    if (text !== '') text += before === 'heading' ? '\n' : '\n\n'
    text += block
    before = token.type
  }
  return text
}

function drawBlock(token: MarkedToken, depth: number): string {
  if (depth > maxDepth) return escapeText(token.raw.trim())
  switch (token.type) {
    case 'paragraph':
      return inline(token.tokens)
    case 'text':
      return token.tokens === undefined ? escapeText(decoded(token.text)) : inline(token.tokens)
    case 'heading':
      return wrap('*', inline(token.tokens, { bold: true }))
    case 'code':
      return fence(token.text)
    case 'blockquote':
      return quote(blocks(inner(token.tokens), depth + 1))
    case 'list':
      return token.items
        .map((item, index) => {
          const bullet = token.ordered ? `${Number(token.start || 1) + index}.` : '•'
          const box = item.task ? (item.checked === true ? '☑ ' : '☐ ') : ''
          return `${bullet} ${box}${indent(listItem(inner(item.tokens), depth + 1))}`
        })
        .join('\n')
    case 'table':
      return fence(
        drawTable(
          [token.header, ...token.rows].map((row) => row.map((cell) => oneLine(plain(inner(cell.tokens))))),
          token.align,
          tableStyle,
        ).join('\n'),
      )
    case 'hr':
      return '──────────'
    case 'html':
      return escapeText(token.text.trim())
    case 'space':
    case 'def':
    case 'checkbox':
      return ''
    default:
      return inline([token])
  }
}

/** What stands in one item: its text, then nested lists directly below. */
function listItem(tokens: readonly MarkedToken[], depth: number): string {
  return tokens
    .map((token) => drawBlock(token, depth))
    .filter((block) => block !== '')
    .join('\n')
}

interface Style {
  /** All of it is bold already: a second pair of stars would end it. */
  readonly bold?: boolean
}

/** A piece of a line; `marked` ones need room around their markers. */
interface Piece {
  readonly text: string
  readonly marked: boolean
}

function inline(tokens: readonly unknown[] | undefined, style: Style = {}): string {
  const pieces = inner(tokens).map((token) => drawInline(token, style))
  let text = ''
  let open = false
  for (const piece of pieces) {
    if (piece.text === '') continue
    // Slack takes a marker for one only beside a space or a sign; an invisible space does.
    const glued = (piece.marked || open) && /[\p{L}\p{N}*_~`]$/u.test(text) && /^[\p{L}\p{N}*_~`]/u.test(piece.text)
    text += glued ? `\u200B${piece.text}` : piece.text
    open = piece.marked
  }
  return text
}

function drawInline(token: MarkedToken, style: Style): Piece {
  switch (token.type) {
    case 'strong':
      return style.bold === true
        ? { text: inline(token.tokens, style), marked: false }
        : { text: wrap('*', inline(token.tokens, { ...style, bold: true })), marked: true }
    case 'em':
      return { text: wrap('_', inline(token.tokens, style)), marked: true }
    case 'del':
      return { text: wrap('~', inline(token.tokens, style)), marked: true }
    case 'codespan':
      return { text: `\`${escapeText(token.text.replaceAll('`', 'ˋ'))}\``, marked: true }
    case 'link':
      return { text: link(token.href, plain(inner(token.tokens)) || token.text), marked: false }
    case 'image':
      return { text: link(token.href, token.text === '' ? fileNameOf(token.href) : token.text), marked: false }
    case 'br':
      return { text: '\n', marked: false }
    case 'escape':
      return { text: escapeText(token.text), marked: false }
    case 'text':
      return {
        text: token.tokens === undefined ? escapeText(decoded(token.text)) : inline(token.tokens, style),
        marked: false,
      }
    case 'html':
      return { text: /^<br\s*\/?>$/i.test(token.text.trim()) ? '\n' : escapeText(token.text), marked: false }
    default:
      return { text: escapeText(token.raw), marked: false }
  }
}

/** The words alone, for places in which nothing can be marked. Not escaped. */
function plain(tokens: readonly MarkedToken[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'br') return ' '
      if ('tokens' in token && token.tokens !== undefined && token.tokens.length > 0) return plain(inner(token.tokens))
      return 'text' in token ? decoded(token.text) : token.raw
    })
    .join('')
}

/** Markers around each line: Slack's do not reach over the end of one. */
function wrap(marker: string, text: string): string {
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

function fence(code: string): string {
  return `\`\`\`\n${escapeText(code.replaceAll('```', '`\u200B``'))}\n\`\`\``
}

function quote(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')
}

function indent(text: string): string {
  return text.replaceAll('\n', '\n    ')
}

/** Models write the entities of HTML now and then. */
function decoded(text: string): string {
  return text
    .replace(/&(lt|gt|quot|nbsp|#39);/g, (whole, name: string) => entities[name] ?? whole)
    .replaceAll('&amp;', '&')
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', nbsp: ' ', '#39': "'" }

function fileNameOf(address: string): string {
  return address.split(/[?#]/, 1)[0]?.split('/').pop() || 'image'
}

/** `marked` types the children of its tokens loosely. */
function inner(tokens: readonly unknown[] | undefined): MarkedToken[] {
  return (tokens ?? []).filter(isToken)
}

function isToken(value: unknown): value is MarkedToken {
  return typeof value === 'object' && value !== null && 'type' in value && 'raw' in value
}

function oneLine(cell: string): string {
  return cell.replace(/\s+/g, ' ').trim()
}
