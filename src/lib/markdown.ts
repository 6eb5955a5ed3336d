/**
 * Parses Markdown into tokens for renderers. `marked` is loaded for the first text, because it costs 35 ms and 5 MB.
 */
import type { MarkedToken, Token } from 'marked'

export type { MarkedToken } from 'marked'

/**
 * Returns the blocks of a text in order. Never throws: a text that the parser cannot process (for example quotes nested a
 * thousand levels deep) becomes one plain paragraph.
 */
export async function parseMarkdown(text: string): Promise<readonly MarkedToken[]> {
  const { lexMarkdown } = await import('./markdown-lexer.ts')
  try {
    return lexMarkdown(text).filter(isMarkedToken)
  } catch {
    return [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text, escaped: false }] }]
  }
}

/** Other tokens come from extensions of `marked`, which are not used. */
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
