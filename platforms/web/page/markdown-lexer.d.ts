/**
 * What the page uses of the lexer. The adapter serves `src/lib/markdown-lexer.ts` as `markdown-lexer.js`.
 */
export type Token =
  | { type: 'space' | 'def' | 'hr' | 'br'; raw: string }
  | { type: 'heading'; raw: string; depth: number; tokens: Token[] }
  | { type: 'paragraph' | 'blockquote' | 'strong' | 'em' | 'del'; raw: string; tokens: Token[] }
  | { type: 'text'; raw: string; text: string; tokens?: Token[] }
  | { type: 'escape' | 'codespan' | 'html'; raw: string; text: string }
  | { type: 'code'; raw: string; text: string; lang?: string }
  | {
      type: 'link' | 'image'
      raw: string
      href: string
      title?: string | null
      text: string
      tokens: Token[]
    }
  | { type: 'list'; raw: string; ordered: boolean; start: number | ''; loose: boolean; items: ListItem[] }
  | { type: 'table'; raw: string; header: TableCell[]; rows: TableCell[][] }
  | { type: 'checkbox'; raw: string; checked: boolean }

export interface ListItem {
  task: boolean
  checked?: boolean
  loose: boolean
  tokens: Token[]
}

export interface TableCell {
  tokens: Token[]
  align: 'center' | 'left' | 'right' | null
}

/** The text of a token is decoded: it contains no character references. Throws RangeError. */
export function lexMarkdown(source: string): Token[]
