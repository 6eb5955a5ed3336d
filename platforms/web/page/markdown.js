/**
 * Converts Markdown to nodes. The lexer is that of the other platforms (`src/lib/markdown-lexer.ts`); the elements are created here, so that no text of a model or a tool
 * becomes HTML. Raw HTML is shown as text.
 */
import { h } from './dom.js'
import { highlight } from './highlight.js'
import { icon } from './icons.js'
import { isEmbeddedImage, safeUrl } from './links.js'
import { lexMarkdown } from './markdown-lexer.js'
import { formulaOf, renderFormula } from './math.js'

/** @typedef {import('./markdown-lexer.js').Token} Token */
/** @typedef {import('./markdown-lexer.js').ListItem} ListItem */

/** Longer or more deeply nested texts are shown as plain text. */
const maxChars = 400_000
const maxDepth = 40

/**
 * The blocks of a text. The `raw` values of the tokens add up to the text.
 *
 * @param {string} source
 * @returns {Token[]}
 */
export function parseMarkdown(source) {
  if (source.length <= maxChars) {
    try {
      return lexMarkdown(source)
    } catch (error) {
      // Thousands of nested quotes or lists exhaust the stack of the parser.
      if (!(error instanceof RangeError)) throw error
    }
  }
  return [{ type: 'html', raw: source, text: source }]
}

/**
 * The node of a block; `null` for an invisible one.
 *
 * @param {Token} token
 * @param {number} [depth]
 * @returns {Node | null}
 */
export function renderBlock(token, depth = 0) {
  if (depth > maxDepth) return plainText(token.raw)
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'hr':
      return h('hr')
    case 'heading':
      // Headings of a reply are below those of the page.
      return h(headingTag(token.depth), {}, ...renderInline(token.tokens, depth))
    case 'paragraph':
      return h('p', {}, ...renderInline(token.tokens, depth))
    case 'text':
      return h('p', {}, ...renderInline(token.tokens ?? [token], depth))
    case 'blockquote':
      return h('blockquote', {}, ...renderBlocks(token.tokens, depth + 1))
    case 'code':
      return renderCode(token.text, (token.lang ?? '').split(/\s/, 1)[0] ?? '')
    case 'list':
      return renderList(token, depth)
    case 'table':
      return renderTable(token, depth)
    case 'escape':
      // A formula on lines of its own.
      return h('p', { class: 'plain' }, renderLiteral(token.text.trimEnd()))
    case 'html':
      return plainText(token.text.trimEnd())
    default:
      return h('p', {}, ...renderInline([token], depth))
  }
}

/** @param {Token[]} tokens @param {number} depth @returns {Node[]} */
function renderBlocks(tokens, depth) {
  return tokens.map((token) => renderBlock(token, depth)).filter((node) => node !== null)
}

/** @param {number} depth @returns {'h3' | 'h4' | 'h5' | 'h6'} */
function headingTag(depth) {
  if (depth === 1) return 'h3'
  if (depth === 2) return 'h4'
  return depth === 3 ? 'h5' : 'h6'
}

/** @param {string} text */
function plainText(text) {
  return h('p', { class: 'plain' }, text)
}

/** An escaped character, or a formula. @param {string} text */
function renderLiteral(text) {
  const formula = text.length > 2 ? formulaOf(text) : undefined
  return formula === undefined ? document.createTextNode(text) : renderFormula(text, formula)
}

/** @param {string} text @param {string} language */
function renderCode(text, language) {
  const label = h('span', {}, language)
  const copy = h('button', { class: 'small', type: 'button', 'data-copy': true }, icon('copy'), h('span', {}, 'Copy'))
  const code = h('code', {}, ...highlight(text, language))
  const name = language === '' ? 'Code' : `Code, ${language}`
  return h(
    'div',
    { class: language === '' ? 'code bare' : 'code', 'data-language': language === 'mermaid' && language },
    h('div', { class: 'code-head' }, label, copy),
    // Focusable, because it may scroll.
    h('pre', { tabindex: '0', role: 'group', 'aria-label': name }, code),
  )
}

/** @param {Extract<Token, { type: 'list' }>} list @param {number} depth */
function renderList(list, depth) {
  const items = list.items.map((item) => renderItem(item, depth))
  if (!list.ordered) return h('ul', {}, ...items)
  return h('ol', { start: list.start === 1 || list.start === '' ? undefined : String(list.start) }, ...items)
}

/** @param {ListItem} item @param {number} depth */
function renderItem(item, depth) {
  /** @type {Node[]} */
  const content = []
  for (const token of item.tokens) {
    if (token.type === 'checkbox') continue
    // The text of a tight list item is not a paragraph.
    if (token.type === 'text') content.push(...renderInline(token.tokens ?? [token], depth))
    else content.push(...renderBlocks([token], depth + 1))
  }
  if (!item.task) return h('li', {}, ...content)
  const checked = item.checked === true
  const box = h(
    'span',
    { class: 'box', role: 'img', 'aria-label': checked ? 'Done:' : 'To do:', 'data-checked': checked },
    ...(checked ? [icon('check')] : []),
  )
  return h('li', { class: 'task' }, box, ...content)
}

/** @param {Extract<Token, { type: 'table' }>} table @param {number} depth */
function renderTable({ header, rows }, depth) {
  /** @param {'th' | 'td'} tag */
  const cells = (tag) => (/** @type {import('./markdown-lexer.js').TableCell} */ cell) =>
    h(tag, { 'data-align': cell.align ?? undefined }, ...renderInline(cell.tokens, depth))
  const head = h('thead', {}, h('tr', {}, ...header.map(cells('th'))))
  const body = h('tbody', {}, ...rows.map((row) => h('tr', {}, ...row.map(cells('td')))))
  return h('div', { class: 'table', tabindex: '0', role: 'group', 'aria-label': 'Table' }, h('table', {}, head, body))
}

/** @param {Token[]} tokens @param {number} depth @returns {Node[]} */
function renderInline(tokens, depth) {
  if (depth > maxDepth) return tokens.map((token) => document.createTextNode(token.raw))
  return tokens.map((token) => renderSpan(token, depth + 1))
}

/** @param {Token} token @param {number} depth @returns {Node} */
function renderSpan(token, depth) {
  switch (token.type) {
    case 'text':
      if (token.tokens === undefined) return document.createTextNode(token.text)
      return h('span', {}, ...renderInline(token.tokens, depth))
    case 'escape':
      return renderLiteral(token.text)
    case 'html':
      return document.createTextNode(token.text)
    case 'codespan':
      return h('code', {}, token.text)
    case 'strong':
    case 'em':
    case 'del':
      return h(token.type, {}, ...renderInline(token.tokens, depth))
    case 'br':
      return h('br')
    case 'link':
      return renderLink(token, depth)
    case 'image':
      return renderImage(token)
    default:
      return document.createTextNode(token.raw)
  }
}

/** @param {Extract<Token, { type: 'link' | 'image' }>} token @param {number} depth */
function renderLink(token, depth) {
  const content = renderInline(token.tokens, depth)
  const address = safeUrl(token.href)
  if (address === null) return h('span', { title: token.href }, ...content)
  return externalLink(address, token.title, content)
}

/** @param {Extract<Token, { type: 'link' | 'image' }>} token */
function renderImage(token) {
  const { text } = token
  if (isEmbeddedImage(token.href)) return h('img', { src: token.href, alt: text })
  const address = safeUrl(token.href)
  const label = text === '' ? 'picture' : `picture: ${text}`
  return address === null
    ? document.createTextNode(label)
    : externalLink(address, token.title, [document.createTextNode(label)])
}

/** @param {string} href @param {string | null | undefined} title @param {Node[]} content */
function externalLink(href, title, content) {
  return h('a', { href, target: '_blank', rel: 'noopener noreferrer', title: title ?? undefined }, ...content)
}
