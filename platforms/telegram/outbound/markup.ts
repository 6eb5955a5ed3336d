/**
 * Renders Markdown tokens as Telegram's HTML: few tags, no nested quotes, everything else escaped. The tags must be
 * balanced, because Telegram rejects a message that it cannot parse.
 */
import { formatTable, type MarkedToken, type TableStyle, tableHasLinks, tableWidth } from '#sdk'

type InlineTokens = Extract<MarkedToken, { type: 'paragraph' }>['tokens']
type TokenOf<Type extends MarkedToken['type']> = Extract<MarkedToken, { type: Type }>

interface RenderContext {
  readonly insideQuote: boolean
  /** The number of enclosing lists. */
  readonly listDepth: number
}

/** The result has no trailing whitespace and at most one empty line between blocks. */
export function toHtml(blocks: readonly MarkedToken[]): string {
  return blocksHtml(blocks, { insideQuote: false, listDepth: 0 })
}

/** Narrows the type: `marked` creates other tokens only through extensions. */
function knownTokens(tokens: InlineTokens | undefined): readonly MarkedToken[] {
  return (tokens ?? []).filter((token): token is MarkedToken => typeof token.raw === 'string')
}

function blocksHtml(tokens: readonly MarkedToken[], context: RenderContext): string {
  let html = ''
  let gap = ''
  for (const token of tokens) {
    const block = blockHtml(token, context)
    if (block === '') {
      gap += token.raw
      continue
    }
    if (html !== '') html += (gap.match(/\n/g)?.length ?? 0) > 1 ? '\n\n' : '\n'
    html += block
    gap = token.raw.slice(token.raw.trimEnd().length)
  }
  return html
}

function blockHtml(token: MarkedToken, context: RenderContext): string {
  switch (token.type) {
    case 'heading':
      return `<b>${inlineHtml(token.tokens)}</b>`
    case 'paragraph':
      return inlineHtml(token.tokens)
    case 'text':
      return token.tokens === undefined ? escapeHtml(token.text) : inlineHtml(token.tokens)
    case 'code':
      return codeHtml(token)
    case 'blockquote':
      return quoteHtml(token, context)
    case 'list':
      return listHtml(token, context)
    case 'table':
      return tableHtml(token, inlineHtml)
    case 'hr':
      return '———'
    case 'space':
    case 'def':
    case 'checkbox':
      return ''
    default:
      return escapeHtml(token.raw.trim())
  }
}

function codeHtml({ text, lang = '' }: TokenOf<'code'>): string {
  const language = /^[\w+#.-]{1,32}/.exec(lang)?.[0]
  const code = escapeHtml(text)
  return language === undefined
    ? `<pre>${code}</pre>`
    : `<pre><code class="language-${escapeHtml(language)}">${code}</code></pre>`
}

/** Telegram rejects nested quotes, so an inner quote keeps its `>`. */
function quoteHtml({ tokens }: TokenOf<'blockquote'>, context: RenderContext): string {
  const quoted = blocksHtml(knownTokens(tokens), { ...context, insideQuote: true })
  if (!context.insideQuote) return `<blockquote>${quoted}</blockquote>`
  return quoted
    .split('\n')
    .map((line) => `&gt; ${line}`)
    .join('\n')
}

const bullets = ['•', '◦', '▪'] as const

function listHtml({ items, ordered, start, loose }: TokenOf<'list'>, context: RenderContext): string {
  const first = start === '' ? 1 : start
  const lines = items.map((item, index) => {
    const body = indentLines(blocksHtml(knownTokens(item.tokens), { ...context, listDepth: context.listDepth + 1 }))
    const mark = ordered ? `${first + index}.` : (bullets[context.listDepth] ?? '▪')
    return `${item.task ? (item.checked === true ? '☑' : '☐') : mark} ${body}`
  })
  return lines.join(loose && context.listDepth === 0 ? '\n\n' : '\n')
}

/** Indents all lines after the first, except in code blocks. */
function indentLines(html: string): string {
  return html
    .split(/(<pre>[\s\S]*?<\/pre>)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(/\n(?=.)/g, '\n   ')))
    .join('')
    .replace(/\n +(?=<pre>)/g, '\n')
}

function inlineHtml(tokens: InlineTokens | undefined): string {
  return tokensHtml(knownTokens(tokens))
}

function tokensHtml(tokens: readonly MarkedToken[]): string {
  let html = ''
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at]
    if (token === undefined) break
    const end = token.type === 'html' ? closingTagIndex(tokens, at) : undefined
    if (end === undefined) {
      html += inlineTokenHtml(token)
      continue
    }
    html += wrapTag(tagOf(token.raw) ?? '', tokensHtml(tokens.slice(at + 1, end)))
    at = end
  }
  return html
}

function inlineTokenHtml(token: MarkedToken): string {
  switch (token.type) {
    case 'strong':
      return wrapTag('b', inlineHtml(token.tokens))
    case 'em':
      return wrapTag('i', inlineHtml(token.tokens))
    case 'del':
      return wrapTag('s', inlineHtml(token.tokens))
    case 'codespan':
      return wrapTag('code', escapeHtml(token.text))
    case 'br':
      return '\n'
    case 'link':
      return linkHtml(token)
    case 'image':
      return anchor(token.href, `🖼 ${escapeHtml(token.text === '' ? 'image' : token.text)}`)
    case 'text':
      return escapeHtml(token.text)
    case 'escape':
      return escapeHtml(token.text)
    case 'checkbox':
      return ''
    case 'html':
      return escapeHtml(token.raw)
    default:
      return escapeHtml(token.raw)
  }
}

function wrapTag(tag: string, html: string): string {
  return html === '' ? '' : `<${tag}>${html}</${tag}>`
}

/** HTML tags that models write, mapped to the tags of Telegram. */
const htmlTags: Readonly<Record<string, string>> = {
  b: 'b',
  strong: 'b',
  i: 'i',
  em: 'i',
  u: 'u',
  ins: 'u',
  s: 's',
  del: 's',
  code: 'code',
  kbd: 'code',
}

function tagOf(raw: string): string | undefined {
  const name = /^<(\w+)>$/.exec(raw)?.[1]?.toLowerCase()
  return name !== undefined && Object.hasOwn(htmlTags, name) ? htmlTags[name] : undefined
}

/** The index of the token that closes the tag at `at`, if it is a supported tag. */
function closingTagIndex(tokens: readonly MarkedToken[], at: number): number | undefined {
  const raw = tokens[at]?.raw ?? ''
  if (tagOf(raw) === undefined) return undefined
  const closing = `</${raw.slice(1)}`.toLowerCase()
  const end = tokens.findIndex(
    (token, index) => index > at && token.type === 'html' && token.raw.toLowerCase() === closing,
  )
  return end === -1 ? undefined : end
}

function linkHtml({ href, text, tokens, autolink }: TokenOf<'link'>): string {
  // Telegram creates links from plain URLs itself.
  if (autolink === true) return escapeHtml(text)
  const label = inlineHtml(tokens)
  return anchor(href, label === '' ? escapeHtml(href) : label)
}

/**
 * Only web addresses become links. A link `tg://user?id=` would notify the person, also where another one made the model write it. The
 * other `tg:` URLs trigger actions (set a proxy, sign in, join), which a label must not hide.
 */
function anchor(href: string, label: string): string {
  if (/^https?:\/\/\S/i.test(href)) return `<a href="${escapeHtml(href)}">${label}</a>`
  const address = href.replace(/^mailto:/i, '')
  return stripHtml(label) === address || address === '' ? label : `${label} (${escapeHtml(address)})`
}

/** The result is safe as text and as an attribute value. */
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const htmlEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

/** The visible text of HTML that this adapter created. */
export function stripHtml(html: string): string {
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&(amp|lt|gt|quot);/g, (whole, name: string) => htmlEntities[name] ?? whole)
}

type Table = Extract<MarkedToken, { type: 'table' }>
type Cell = Table['header'][number]

/** Wider lines wrap on a phone. */
const maxTableWidth = 40
const tableStyle: TableStyle = { columnSeparator: ' | ', ruleCharacter: '-', ruleSeparator: '-+-' }

/** A monospaced table if it is narrow enough and has no links, otherwise a group of lines for each row. */
function tableHtml(table: Table, inlineHtml: (tokens: Cell['tokens']) => string): string {
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
