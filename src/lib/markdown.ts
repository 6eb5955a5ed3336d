/**
 * Markdown as tokens, for those who render it. The only door to `marked`, opened when first used: it costs 35 ms and
 * 5 MB, which a gateway of short plain replies never pays.
 */
import type { MarkedToken, Token } from 'marked'

export type { MarkedToken } from 'marked'

/**
 * The blocks of a text, in order. Never throws: a text that no parser survives (quotes nested a thousand deep) comes
 * back as one plain paragraph, so that it is at least readable.
 */
export async function parseMarkdown(text: string): Promise<readonly MarkedToken[]> {
  const { lexMarkdown } = await import('./markdown-lexer.ts')
  try {
    return lexMarkdown(text).filter(isMarkedToken)
  } catch {
    return [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text, escaped: false }] }]
  }
}

/** Tokens of `marked` itself; others come only from extensions, and there are none. */
function isMarkedToken(token: Token): token is MarkedToken {
  return knownTokenTypes.has(token.type)
}

const knownTokenTypes: ReadonlySet<string> = new Set<MarkedToken['type']>([
  'blockquote',
  'br',
  'checkbox',
  'code',
  'codespan',
  'def',
  'del',
  'em',
  'escape',
  'heading',
  'hr',
  'html',
  'image',
  'link',
  'list',
  'list_item',
  'paragraph',
  'space',
  'strong',
  'table',
  'text',
])
