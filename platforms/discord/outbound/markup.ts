/**
 * Converts Markdown to the subset that Discord renders: tables become code blocks, deep headings bold lines, images links.
 * Other text stays unchanged. Pure.
 */
import { formatTable, type MarkedToken, parseMarkdown, type TableStyle } from '#sdk'

/** Markdown that Discord does not render. A text without it is not parsed. */
const unsupportedMarkdown =
  /^[ \t>]*#{4,6}[ \t]|!\[|^[ \t>]*\|?[ \t]*:?-{1,1000}:?[ \t]*(?:\||$)|^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/m

/** Never throws. A text that cannot be parsed is returned unchanged. */
export async function toDiscordMarkdown(text: string): Promise<string> {
  if (!unsupportedMarkdown.test(text)) return text
  const tokens = await parseMarkdown(text)
  // The lexer did not preserve the whole text, so it is returned unchanged.
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

/** Discord renders three levels of headings, and no underlined ones. */
function renderHeading(heading: Extract<MarkedToken, { type: 'heading' }>): string {
  const { raw, depth, text, tokens } = heading
  const end = raw.slice(raw.trimEnd().length)
  if (depth > 3) return `**${withoutBold(text)}**${end}`
  return raw.trimStart().startsWith('#') ? renderInline(raw, tokens) : `${'#'.repeat(depth)} ${text}${end}`
}

/** Replaces images by links, at any depth. */
function renderInline(raw: string, tokens: readonly unknown[]): string {
  let text = raw
  for (const token of tokens) {
    const { type, href, alt, nested, source } = parseInlineToken(token)
    if (type === 'image') text = replaceOnce(text, source, linkText(alt, href))
    else if (nested.length > 0) text = replaceOnce(text, source, renderInline(source, nested))
  }
  return text
}

/** Nested tokens may come from extensions of the lexer, so their fields are checked. */
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

/** Nested markers would end the bold text. */
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

/** A code block shows markup literally, and backquotes would end it. */
function renderCell(text: string): string {
  return text
    .replace(/(\*\*|__|~~)(.*?)\1/g, '$2')
    .replace(/`+/g, '')
    .trim()
}
