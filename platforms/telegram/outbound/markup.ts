/**
 * Markdown tokens as the HTML that Telegram takes: few tags, no nesting of quotes and code, everything else escaped.
 * A message that Telegram refuses to parse is lost formatting at best, so nothing here may come out unbalanced.
 */
import type { MarkedToken } from '#sdk'
import { escapeHtml, stripHtml } from './escape.ts'
import { tableHtml } from './table.ts'

type InlineTokens = Extract<MarkedToken, { type: 'paragraph' }>['tokens']
type TokenOf<Type extends MarkedToken['type']> = Extract<MarkedToken, { type: Type }>

interface RenderContext {
  readonly insideQuote: boolean
  /** How many lists lie around. */
  readonly listDepth: number
}

/** Never longer on the screen than it must be: no trailing blanks, at most one empty line. */
export function toHtml(blocks: readonly MarkedToken[]): string {
  return blocksHtml(blocks, { insideQuote: false, listDepth: 0 })
}

/** What the token types mean is known; `marked` has others only through extensions. */
function knownTokens(tokens: InlineTokens | undefined): readonly MarkedToken[] {
  return (tokens ?? []).filter((token): token is MarkedToken => typeof token.raw === 'string')
}

function blocksHtml(tokens: readonly MarkedToken[], place: RenderContext): string {
  let html = ''
  let gap = ''
  for (const token of tokens) {
    const block = blockHtml(token, place)
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

function blockHtml(token: MarkedToken, place: RenderContext): string {
  switch (token.type) {
    case 'heading':
      return `<b>${inlineHtml(token.tokens)}</b>`
    case 'paragraph':
      return inlineHtml(token.tokens)
    case 'text':
      return token.tokens === undefined ? textHtml(token.text) : inlineHtml(token.tokens)
    case 'code':
      return codeHtml(token)
    case 'blockquote':
      return quoteHtml(token, place)
    case 'list':
      return listHtml(token, place)
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

/** A quote inside a quote would be refused; it keeps its mark instead. */
function quoteHtml({ tokens }: TokenOf<'blockquote'>, place: RenderContext): string {
  const quoted = blocksHtml(knownTokens(tokens), { ...place, insideQuote: true })
  if (!place.insideQuote) return `<blockquote>${quoted}</blockquote>`
  return quoted
    .split('\n')
    .map((line) => `&gt; ${line}`)
    .join('\n')
}

const bullets = ['•', '◦', '▪'] as const

function listHtml({ items, ordered, start, loose }: TokenOf<'list'>, place: RenderContext): string {
  const first = start === '' ? 1 : start
  const lines = items.map((item, index) => {
    const body = indentLines(blocksHtml(knownTokens(item.tokens), { ...place, listDepth: place.listDepth + 1 }))
    const mark = ordered ? `${first + index}.` : (bullets[place.listDepth] ?? '▪')
    return `${item.task ? (item.checked === true ? '☑' : '☐') : mark} ${body}`
  })
  return lines.join(loose && place.listDepth === 0 ? '\n\n' : '\n')
}

/** The lines after the first stand under it; code stays as it is. */
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
      return anchor(token.href, `🖼 ${textHtml(token.text === '' ? 'image' : token.text)}`)
    case 'text':
      return textHtml(token.text)
    case 'escape':
      return escapeHtml(token.text)
    case 'checkbox':
      return ''
    case 'html':
      return /^<br\s*\/?>$/i.test(token.raw) ? '\n' : escapeHtml(token.raw)
    default:
      return escapeHtml(token.raw)
  }
}

function wrapTag(tag: string, html: string): string {
  return html === '' ? '' : `<${tag}>${html}</${tag}>`
}

/** The tags a model may write itself, as Telegram calls them. */
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

/** Where the tag at `at` is closed, when it is one of ours and it is. */
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
  // Telegram makes links of bare addresses by itself.
  if (autolink === true) return escapeHtml(text)
  const label = inlineHtml(tokens)
  return anchor(href, label === '' ? escapeHtml(href) : label)
}

/**
 * Only addresses that Telegram opens become links; others are shown for what they are. Of its own only people are among
 * them: the rest do things (set a proxy, sign in, join) that should not hide behind words.
 */
function anchor(href: string, label: string): string {
  if (/^https?:\/\/\S|^tg:\/\/user\?id=\d+$/i.test(href)) return `<a href="${escapeHtml(href)}">${label}</a>`
  const address = href.replace(/^mailto:/i, '')
  return stripHtml(label) === address || address === '' ? label : `${label} (${escapeHtml(address)})`
}

/** In plain text Markdown knows the entities of HTML. */
function textHtml(text: string): string {
  return escapeHtml(text.replace(/&(?:(amp|lt|gt|quot|apos|nbsp)|#(\d{1,6}));/g, decodeEntity))
}

const namedEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

function decodeEntity(whole: string, name: string | undefined, code: string | undefined): string {
  if (name !== undefined) return namedEntities[name] ?? whole
  const point = Number(code)
  return point >= 32 && point <= 0xffff && (point < 0xd800 || point > 0xdfff) ? String.fromCodePoint(point) : whole
}
