/**
 * From the markdown that models write to the one that Discord shows: tables become blocks of fixed width, deep headings
 * bold lines, pictures links. Everything else is the same and stays as it is. Pure.
 */
import { formatTable, type MarkedToken, parseMarkdown, type TableStyle } from '#sdk'

/** What Discord does not show; without any of it the text is not even parsed. */
const unsupportedMarkdown =
  /^[ \t>]*#{4,6}[ \t]|!\[|^[ \t>]*\|?[ \t]*:?-{1,1000}:?[ \t]*(?:\||$)|^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/m

/** Never throws; what cannot be parsed comes back as it was. */
export async function toDiscordMarkdown(text: string): Promise<string> {
  if (!unsupportedMarkdown.test(text)) return text
  const tokens = await parseMarkdown(text)
  // A text that the lexer does not give back whole is safer as it is.
  if (tokens.map(({ raw }) => raw).join('') !== text) return text
  return tokens.map(renderBlock).join('').trimEnd()
}

function renderBlock(token: MarkedToken): string {
  switch (token.type) {
    case 'table':
      return `${renderTable(token)}${token.raw.slice(token.raw.trimEnd().length)}`
    case 'heading':
      return renderHeading(token)
    case 'hr':
      return token.raw.replace(/\S+/, '──────────')
    case 'paragraph':
      return renderInline(token.raw, token.tokens)
    case 'list':
      return token.items.reduce(
        (raw, item) => replaceOnce(raw, item.raw, renderInline(item.raw, item.tokens)),
        token.raw,
      )
    default:
      return token.raw
  }
}

/** Discord knows three sizes, and no heading that is underlined. */
function renderHeading(heading: Extract<MarkedToken, { type: 'heading' }>): string {
  const { raw, depth, text, tokens } = heading
  const end = raw.slice(raw.trimEnd().length)
  if (depth > 3) return `**${withoutBold(text)}**${end}`
  return raw.trimStart().startsWith('#') ? renderInline(raw, tokens) : `${'#'.repeat(depth)} ${text}${end}`
}

/** The raw text with its pictures as links, however deep they stand. */
function renderInline(raw: string, tokens: readonly unknown[]): string {
  let text = raw
  for (const token of tokens) {
    const { type, href, alt, nested, source } = parseInlineToken(token)
    if (type === 'image') text = replaceOnce(text, source, linkText(alt, href))
    else if (nested.length > 0) text = replaceOnce(text, source, renderInline(source, nested))
  }
  return text
}

/** Tokens within tokens may also come from extensions of the lexer, so they are read like any foreign value. */
function parseInlineToken(token: unknown) {
  const value: Readonly<Record<string, unknown>> = typeof token === 'object' && token !== null ? { ...token } : {}
  const text = (key: string) => (typeof value[key] === 'string' ? value[key] : '')
  const nested: readonly unknown[] = Array.isArray(value['tokens']) ? value['tokens'] : []
  return { type: text('type'), href: text('href'), alt: text('text'), source: text('raw'), nested }
}

function linkText(alt: string, href: string): string {
  return alt.trim() === '' ? href : `[${alt}](${href})`
}

function replaceOnce(text: string, sought: string, by: string): string {
  const at = sought === '' ? -1 : text.indexOf(sought)
  return at === -1 ? text : `${text.slice(0, at)}${by}${text.slice(at + sought.length)}`
}

/** Bold within bold would end it. */
function withoutBold(text: string): string {
  return text.replaceAll('**', '').replaceAll('__', '')
}

interface TableCell {
  readonly text: string
}

const tableStyle: TableStyle = { columnSeparator: '  ', ruleCharacter: '─', ruleSeparator: '  ', minColumnWidth: 1 }

function renderTable(table: {
  readonly header: readonly TableCell[]
  readonly rows: readonly (readonly TableCell[])[]
}): string {
  const rows = [table.header, ...table.rows].map((row) => row.map(({ text }) => renderCell(text)))
  return ['```', ...formatTable(rows, [], tableStyle), '```'].join('\n')
}

/** A block of fixed width shows every sign as it is, and must not be ended from within. */
function renderCell(text: string): string {
  return text
    .replace(/(\*\*|__|~~)(.*?)\1/g, '$2')
    .replace(/`+/g, '')
    .trim()
}
