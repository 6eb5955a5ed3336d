/**
 * The lexer of `marked` with bounds: what a model was made to write must stop nobody. Few characters can name a table of
 * millions of cells, and marks of emphasis that never find each other are searched for again and again.
 */
import { Lexer, type Token, Tokenizer, type Tokens } from 'marked'

/** Rows are filled up to the width of the header; a table of these many cells may consist of filling. */
const maxFillerCells = 1_000
/** Marks of emphasis times characters, over all runs of a text and the runs within them. So much takes a quarter of a second. */
const maxEmphasisWork = 8_000_000

/** The blocks of a text. A table or a run of text that would take too long stays as it is written. Throws RangeError. */
export function lexMarkdown(text: string): readonly Token[] {
  return new BoundedLexer().lex(text)
}

class BoundedTokenizer extends Tokenizer {
  override table(src: string): Tokens.Table | undefined {
    const [whole, header = '', , rows = ''] = this.rules.block.table.exec(src) ?? []
    if (whole === undefined || isMostlyFiller(whole, header, rows)) return undefined
    return super.table(src)
  }
}

class BoundedLexer extends Lexer {
  private workLeft = maxEmphasisWork

  constructor() {
    super({ gfm: true, tokenizer: new BoundedTokenizer() })
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    const work = countEmphasisMarkers(src) * src.length
    if (work <= this.workLeft) {
      this.workLeft -= work
      return super.inlineTokens(src, tokens)
    }
    tokens.push({ type: 'text', raw: src, text: src, escaped: false })
    return tokens
  }
}

/** Every cell that somebody wrote has a character of its own. */
function isMostlyFiller(whole: string, header: string, rows: string): boolean {
  return countSegments(header, '|') * countSegments(rows, '\n') > Math.max(maxFillerCells, whole.length)
}

function countEmphasisMarkers(text: string): number {
  return text.match(/[*_~]+/g)?.length ?? 0
}

function countSegments(text: string, sign: string): number {
  let count = 1
  for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1)) count += 1
  return count
}
