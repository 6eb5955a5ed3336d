/**
 * The part of the `marked` package that the page uses. The adapter serves the package as `marked.js`.
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
      autolink?: boolean
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

export function lexer(source: string, options: { gfm: boolean; breaks: boolean }): Token[]
