/**
 * Draws the Markdown of answers in lines of a terminal. It has its own renderer because the component of pi-tui decodes
 * character references into control characters and takes half a minute for 60 kB of unmatched emphasis markers; our lexer has limits.
 */
import { visibleWidth } from '@earendil-works/pi-tui'
import type { MarkedToken } from '../../lib/markdown.ts'
import { isMarkedToken } from '../../lib/markdown.ts'
import { type Span, wrapHard, wrapSpans } from './text-layout.ts'
import type { Style, Theme } from './theme.ts'

type Token<Type extends MarkedToken['type']> = Extract<MarkedToken, { readonly type: Type }>
type Nested = Parameters<typeof isMarkedToken>[0]

/** The lines after these are left out. */
const maxLines = 5_000
/** Narrower blocks get no margin: quotes and lists may be nested deeper than the terminal is wide. */
const minWidth = 10

export function renderMarkdown(blocks: readonly MarkedToken[], width: number, theme: Theme): string[] {
  const lines = renderBlocks(blocks, Math.max(1, width), theme)
  return lines.length > maxLines ? [...lines.slice(0, maxLines), theme.dim('…')] : lines
}

/** Blocks with an empty line between them. */
function renderBlocks(blocks: readonly MarkedToken[], width: number, theme: Theme, isTight = false): string[] {
  const lines: string[] = []
  for (const block of blocks) {
    const drawn = renderBlock(block, width, theme)
    if (drawn.length === 0) continue
    if (lines.length > 0 && !isTight) lines.push('')
    for (const line of drawn) lines.push(line)
  }
  return lines
}

function renderBlock(block: MarkedToken, width: number, theme: Theme): string[] {
  switch (block.type) {
    case 'space':
    case 'def':
      return []
    case 'heading': {
      const sign = theme.hasColour ? [] : [{ text: `${'#'.repeat(block.depth)} ` }]
      return wrapSpans([...sign, ...inline(block.tokens, theme, theme.heading)], width)
    }
    case 'code': {
      const margin = width < minWidth ? '' : '  '
      return indent(wrapHard(block.text, width - margin.length, theme.code), margin)
    }
    case 'blockquote': {
      const margin = width < minWidth ? 0 : 2
      return indent(renderBlocks(marked(block.tokens), width - margin, theme), margin === 0 ? '' : theme.dim('│ '))
    }
    case 'list':
      return block.items.flatMap((item, index) => {
        const number = Number(block.start || 1) + index
        return renderItem(item, block.ordered ? `${number}. ` : '• ', width, theme)
      })
    case 'table':
      return renderTable(block, width, theme)
    case 'hr':
      return [theme.dim('─'.repeat(Math.min(width, 40)))]
    case 'paragraph':
      return wrapSpans(inline(block.tokens, theme), width)
    default:
      return wrapSpans(inline([block], theme), width)
  }
}

function renderItem(item: Token<'list_item'>, bullet: string, width: number, theme: Theme): string[] {
  const box = item.task ? `${item.checked ? '[x]' : '[ ]'} ` : ''
  const sign = width < minWidth ? '' : `${bullet}${box}`
  const lines = renderBlocks(
    marked(item.tokens).filter(({ type }) => type !== 'checkbox'),
    width - sign.length,
    theme,
    !item.loose,
  )
  return indent(lines.length === 0 ? [''] : lines, ' '.repeat(sign.length), theme.accent(sign))
}

/** Columns side by side where they fit; otherwise each row as a list of its cells. */
function renderTable({ header, rows }: Token<'table'>, width: number, theme: Theme): string[] {
  const names = header.map(({ tokens }) => plainText(inline(tokens, theme)))
  const cells = rows.map((row) => row.map(({ tokens }) => plainText(inline(tokens, theme))))
  const widths = names.map((name, column) =>
    Math.max(...[name, ...cells.map((row) => row[column] ?? '')].map((text) => visibleWidth(text))),
  )
  const gap = 2
  const total = widths.reduce((sum, columns) => sum + columns + gap, -gap)
  if (total > width) return renderNarrowTable(names, cells, width, theme)
  const layout = (row: readonly string[], style?: Style) =>
    wrapHard(
      row
        .map((text, column) => text + ' '.repeat(Math.max(0, (widths[column] ?? 0) - visibleWidth(text))))
        .join(' '.repeat(gap))
        .trimEnd(),
      width,
      style,
    )
  return [
    ...layout(names, theme.strong),
    theme.dim(widths.map((columns) => '─'.repeat(columns)).join(' '.repeat(gap))),
    ...cells.flatMap((row) => layout(row)),
  ]
}

function renderNarrowTable(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
  theme: Theme,
): string[] {
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : [theme.dim('─'.repeat(Math.min(width, 10)))]),
    ...row.flatMap((text, column) =>
      wrapSpans([{ text: `${names[column] ?? ''}: `, style: theme.strong }, { text }], width),
    ),
  ])
}

function inline(tokens: readonly Nested[] | undefined, theme: Theme, style?: Style): Span[] {
  return marked(tokens ?? []).flatMap((token) => inlineToken(token, theme, style))
}

function inlineToken(token: MarkedToken, theme: Theme, style?: Style): Span[] {
  const inner = (added: Style) => inline('tokens' in token ? token.tokens : [], theme, compose(added, style))
  switch (token.type) {
    case 'strong':
      return inner(theme.strong)
    case 'em':
      return inner(theme.emphasis)
    case 'del':
      return theme.hasColour ? inner(theme.deleted) : [{ text: '~~' }, ...inner(theme.deleted), { text: '~~' }]
    case 'codespan':
      return [span(theme.hasColour ? token.text : `\`${token.text}\``, theme.code)]
    case 'br':
      return [{ text: '\n' }]
    case 'link':
      return [...inner(theme.link), ...address(token.href, token.text, theme)]
    case 'image':
      return [span(`[${token.text || 'image'}]`, style), ...address(token.href, token.text, theme)]
    case 'text':
    case 'paragraph':
      return token.tokens === undefined ? [span(token.text, style)] : inline(token.tokens, theme, style)
    case 'space':
    case 'checkbox':
      return []
    default:
      return [span('text' in token ? token.text : token.raw, style)]
  }
}

/** An address is always shown, so that a link leads to what can be read. */
function address(href: string, text: string, theme: Theme): Span[] {
  const isShown = href === '' || text === href || `mailto:${text}` === href
  return isShown ? [] : [span(` (${href})`, theme.dim)]
}

function span(text: string, style?: Style): Span {
  return style === undefined ? { text } : { text, style }
}

function compose(inner: Style, outer: Style | undefined): Style {
  return outer === undefined ? inner : (text) => outer(inner(text))
}

function plainText(spans: readonly Span[]): string {
  return spans.map(({ text }) => text.replace(/\s+/g, ' ')).join('')
}

function marked(tokens: readonly Nested[]): MarkedToken[] {
  return tokens.filter(isMarkedToken)
}

function indent(lines: readonly string[], margin: string, first = margin): string[] {
  return lines.map((line, index) => (index === 0 ? first : margin) + line)
}
