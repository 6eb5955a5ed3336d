/**
 * Parses Markdown into tokens for renderers. `marked` is loaded for the first text, because it costs 35 ms and 5 MB.
 */
import type { MarkedToken, Token } from 'marked'
import { lazy } from './cache.ts'

export type { MarkedToken } from 'marked'

/**
 * Returns the blocks of a text in order. Character references (`&amp;`) are decoded. Never throws: a text that the parser cannot process (for example quotes nested a
 * thousand levels deep) becomes one plain paragraph.
 */
export async function parseMarkdown(text: string): Promise<readonly MarkedToken[]> {
  return (await loadMarkdownParser())(text)
}

/** `parseMarkdown` for a caller that cannot wait, such as the drawing of a terminal. */
export const loadMarkdownParser: () => Promise<(text: string) => readonly MarkedToken[]> = lazy(async () => {
  const { lexMarkdown } = await import('./markdown-lexer.ts')
  return (text: string): readonly MarkedToken[] => {
    try {
      return lexMarkdown(text).filter(isMarkedToken)
    } catch {
      return [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text, escaped: false }] }]
    }
  }
})

/** A formula in LaTeX, in a line or as a block. Its text must be shown unchanged, with its delimiters. */
export function isMathToken(token: MarkedToken): boolean {
  return token.type === 'escape' && token.text.length > 1
}

/**
 * Escapes the formulas of a Markdown text for a platform that renders standard Markdown itself.
 * `isPartial`: the text will grow. The result then omits an end that depends on the text that follows, so that it is the start
 * of every later result.
 */
export async function escapeMath(text: string, { isPartial }: { readonly isPartial: boolean }): Promise<string> {
  if (!/[$\\]/.test(text)) return text
  const { escapeMathIn } = await import('./markdown-math-escape.ts')
  return escapeMathIn(text, isPartial)
}

/** Whether a table contains links or images. They do not work in a code block, which is how most platforms show tables. */
export function tableHasLinks({ header, rows }: Extract<MarkedToken, { type: 'table' }>): boolean {
  return [header, ...rows].some((row) => row.some(({ tokens }) => containLink(tokens)))
}

function containLink(tokens: readonly Token[]): boolean {
  return tokens.some((token) => {
    const nested: unknown = 'tokens' in token ? token.tokens : undefined
    return token.type === 'link' || token.type === 'image' || (Array.isArray(nested) && containLink(nested))
  })
}

/** Other tokens come from extensions of `marked`, which are not used. */
export function isMarkedToken(token: Token): token is MarkedToken {
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
