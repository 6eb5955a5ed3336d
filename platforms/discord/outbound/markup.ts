/**
 * Converts Markdown to the subset that Discord renders: tables become code blocks or lists, deep headings bold lines, images
 * links. Other text stays unchanged. Pure.
 */
import {
  decodeHtmlEntities,
  formatTable,
  isMathToken,
  type MarkedToken,
  parseMarkdown,
  type TableStyle,
  tableHasLinks,
} from '#sdk'

/** Markdown that Discord does not render. A text without it is not parsed. */
const unsupportedMarkdown =
  /^[ \t>]*#{4,6}[ \t]|!\[|^[ \t>]*\|?[ \t]*:?-{1,1000}:?[ \t]*(?:\||$)|^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$|&[#\w]{2,10};|<br[ \t/>]|\\[([]|\$|~~~|````|^ {0,3}\[[^\]\n]{1,100}\]:/im

/** Never throws. A text that cannot be parsed is returned unchanged. */
export async function toDiscordMarkdown(text: string): Promise<string> {
  if (!unsupportedMarkdown.test(text) && !hasUnclosedFence(text)) return text
  const tokens = await parseMarkdown(text)
  // The lexer did not preserve the whole text, so it is returned unchanged.
  if (tokens.map(({ raw }) => raw).join('') !== text) return text
  const rendered = renderBlocks(tokens).trimEnd()
  return rendered.trim() === '' ? text : rendered
}

/** The text with its code block closed, for a text that is not rendered. */
export function closeFence(text: string): string {
  return hasUnclosedFence(text) ? `${text.trimEnd()}\n${codeFence}` : text
}

/** An upper bound of the length of the rendered text, except for tables. */
export function renderedLength(text: string): number {
  const escapes = /\\[([]|\$|&/.test(text) ? (text.match(escapedCharacter)?.length ?? 0) : 0
  return text.length + escapes + (hasUnclosedFence(text) ? codeFence.length + 1 : 0)
}

const codeFence = '```'

/** A cheap test: may be wrong for fences within other fences. */
function hasUnclosedFence(text: string): boolean {
  if (!text.includes(codeFence)) return false
  return (text.match(/^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?```(?!.*```)/gm)?.length ?? 0) % 2 === 1
}

/** Each block keeps the blank lines after it. */
function renderBlocks(tokens: readonly MarkedToken[]): string {
  return tokens.map((token) => `${renderBlock(token).trimEnd()}${token.raw.slice(token.raw.trimEnd().length)}`).join('')
}

function renderBlock(token: MarkedToken): string {
  switch (token.type) {
    case 'table':
      return tableHasLinks(token) ? renderTableAsList(token) : renderTable(token)
    case 'heading':
      return token.depth > 3
        ? `**${renderInline(token.tokens, { bold: true })}**`
        : `${'#'.repeat(token.depth)} ${renderInline(token.tokens)}`
    case 'hr':
      return '──────────'
    case 'paragraph':
      return renderInline(token.tokens)
    case 'text':
      return token.tokens === undefined ? token.raw : renderInline(token.tokens)
    case 'list':
      return token.items.map(renderItem).join('')
    case 'blockquote':
      return quoteLines(renderBlocks(markedTokens(token.tokens)))
    case 'code':
      return renderCode(token)
    case 'escape':
      return renderInline([token])
    case 'def':
      return ''
    default:
      return token.raw
  }
}

type ListItem = Extract<MarkedToken, { type: 'list_item' }>

function renderItem({ raw, tokens }: ListItem): string {
  const [marker = '-'] = /^[ \t]*(?:[-*+]|\d{1,9}[.)])/.exec(raw) ?? []
  const indent = ' '.repeat(marker.trim().length + 1)
  const body = renderBlocks(markedTokens(tokens))
    .trimEnd()
    .replace(/\n(?=.)/g, `\n${indent}`)
  return `${marker.trim()} ${body}${raw.slice(raw.trimEnd().length)}`
}

function quoteLines(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')
}

/** Discord has only fences of three backticks, and shows one that is not closed as text. */
function renderCode({ raw, text, lang = '' }: Extract<MarkedToken, { type: 'code' }>): string {
  if (/^```(?!`)[^\n]*\n(?:[\s\S]*\n)?```\s*$/.test(raw) && !text.includes(codeFence)) return raw
  const language = /^[\w+#.-]{1,32}/.exec(lang)?.[0] ?? ''
  return `${codeFence}${language}\n${text.replaceAll(codeFence, '`\u200B``')}\n${codeFence}`
}

interface InlineStyle {
  /** The text is bold already. Another marker would end it. */
  readonly bold?: boolean
}

function renderInline(tokens: readonly unknown[] | undefined, style: InlineStyle = {}): string {
  return markedTokens(tokens)
    .map((token) => renderInlineToken(token, style))
    .join('')
}

function renderInlineToken(token: MarkedToken, style: InlineStyle): string {
  switch (token.type) {
    case 'strong': {
      const marker = token.raw.slice(0, 2)
      return style.bold === true
        ? renderInline(token.tokens, style)
        : `${marker}${renderInline(token.tokens, { bold: true })}${marker}`
    }
    case 'em':
      return `${token.raw.slice(0, 1)}${renderInline(token.tokens, style)}${token.raw.slice(-1)}`
    case 'del':
      return `~~${renderInline(token.tokens, style)}~~`
    case 'link':
      return token.autolink === true
        ? token.raw
        : linkText(renderInline(token.tokens, style), token.href, token.title ?? '')
    case 'image':
      return linkText(token.text, token.href, '')
    case 'br':
      return '\n'
    case 'escape':
      return isMathToken(token) ? escapeMarkup(token.text) : token.raw
    case 'text':
      return token.tokens === undefined ? renderText(token.raw) : renderInline(token.tokens, style)
    default:
      return token.raw
  }
}

/** A decoded character must not become markup or a mention. */
function renderText(raw: string): string {
  if (!raw.includes('&')) return raw
  return raw.replace(/&[#\w]{2,10};/g, (reference) => {
    const text = decodeHtmlEntities(reference)
    return text === reference ? reference : escapeMarkup(text)
  })
}

const escapedCharacter = /[\\*_~|`<>]|(?<=^[ \t]*)[-#]/gm

/** Text that Discord shows unchanged. */
function escapeMarkup(text: string): string {
  return text.replace(escapedCharacter, '\\$&')
}

function linkText(label: string, href: string, title: string): string {
  if (label.trim() === '') return href
  return `[${label}](${href}${title === '' ? '' : ` "${title}"`})`
}

/** Narrows the loosely typed children of tokens. */
function markedTokens(tokens: readonly unknown[] | undefined): MarkedToken[] {
  return (tokens ?? []).filter(isToken)
}

function isToken(value: unknown): value is MarkedToken {
  return typeof value === 'object' && value !== null && 'type' in value && 'raw' in value
}

type Table = Extract<MarkedToken, { type: 'table' }>

const tableStyle: TableStyle = { columnSeparator: '  ', ruleCharacter: '─', ruleSeparator: '  ', minColumnWidth: 1 }

function renderTable({ header, rows }: Table): string {
  const cells = [header, ...rows].map((row) => row.map(({ tokens }) => plainText(tokens)))
  return [codeFence, ...formatTable(cells, [], tableStyle), codeFence].join('\n')
}

/** The text of a cell in a code block, which shows markup literally. Backticks could end the block. */
function plainText(tokens: readonly unknown[]): string {
  const text = markedTokens(tokens)
    .map((token) => {
      if (token.type === 'br') return ' '
      if ('tokens' in token && token.tokens !== undefined && token.tokens.length > 0) return plainText(token.tokens)
      return 'text' in token ? token.text : token.raw
    })
    .join('')
  return text.replaceAll('`', '').replace(/\s+/g, ' ')
}

/** Links do not work in a code block, so each row becomes a group of lines with the column names as labels. */
function renderTableAsList({ header, rows }: Table): string {
  const cellText = (tokens: readonly unknown[], style: InlineStyle = {}) =>
    renderInline(tokens, style).replace(/\s+/g, ' ').trim()
  const names = header.map(({ tokens }) => cellText(tokens))
  const groups = rows.map((row) => {
    const [title = '', ...cells] = row.map(({ tokens }, index) => cellText(tokens, { bold: index === 0 }))
    const lines = cells.flatMap((cell, index) => {
      const name = names[index + 1] ?? ''
      return cell === '' ? [] : [`- ${name === '' ? '' : `${name}: `}${cell}`]
    })
    return [...(title === '' ? [] : [`**${title}**`]), ...lines].join('\n')
  })
  return groups.length === 0 ? names.join(' | ') : groups.join('\n\n')
}
