/**
 * The text that a reader of Markdown sees, read with the lexer of `marked` alone, to compare rendered messages with it.
 */
import { Lexer, type Token } from 'marked'
import { decodeHtmlEntities } from '../../../src/lib/html-entities.ts'

/**
 * Letters and digits in order. The headers of tables are not included, because a table that is shown as a list repeats them,
 * nor are tags that platforms turn into formatting.
 */
export function readLetters(markdown: string): string {
  return lettersOf(readPlainText(markdown))
}

/** With a line break after each block. */
export function readPlainText(markdown: string): string {
  return plainText(new Lexer({ gfm: true }).lex(markdown))
}

/** Without tags that platforms turn into formatting or line breaks. */
export function lettersOf(text: string): string {
  return text.replace(/<\/?(?:b|strong|i|em|u|ins|s|del|code|kbd|br)\s*\/?>/gi, '').replace(/[^\p{L}\p{N}\p{M}]/gu, '')
}

/** Whether all letters of `expected` are in `shown`, in the same order. */
export function findLostText(expected: string, shown: string): string | undefined {
  let at = 0
  for (const [index, char] of [...expected].entries()) {
    const found = shown.indexOf(char, at)
    if (found === -1) return [...expected].slice(Math.max(0, index - 20), index + 20).join('')
    at = found + char.length
  }
  return undefined
}

function plainText(tokens: readonly Token[]): string {
  return tokens.map((token) => `${tokenText(token)}${inlineTypes.has(token.type) ? '' : '\n'}`).join('')
}

const inlineTypes: ReadonlySet<string> = new Set([
  'codespan',
  'del',
  'em',
  'escape',
  'html',
  'image',
  'link',
  'strong',
  'text',
])

function tokenText(token: Token): string {
  switch (token.type) {
    case 'list':
      return plainText(token['items'])
    case 'table':
      return plainText(token['rows'].flat().map(({ tokens }: { tokens: Token[] }) => ({ type: 'cell', tokens })))
    case 'space':
    case 'def':
    case 'checkbox':
      return ''
    case 'text':
    case 'image':
      return 'tokens' in token && token.tokens !== undefined && token.type === 'text'
        ? plainText(token.tokens)
        : decodeHtmlEntities(token['text'])
    default:
      return 'tokens' in token && token.tokens !== undefined
        ? plainText(token.tokens)
        : 'text' in token
          ? String(token['text'])
          : ''
  }
}
