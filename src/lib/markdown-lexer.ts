/**
 * The lexer of `marked` with limits, because the text of a model is untrusted. A short text can define a table with millions
 * of cells, and unmatched emphasis markers cost quadratic time.
 */
import { Lexer, type Token, Tokenizer, type Tokens } from 'marked'

/** `marked` pads rows to the width of the header. A table may have this many padding cells. */
const maxFillerCells = 1_000
/** Emphasis markers times characters, summed over all inline texts. This takes a quarter of a second. */
const maxEmphasisWork = 8_000_000

/** Returns the blocks of a text. A table or inline text that would take too long stays plain text. Throws RangeError. */
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

/** Every cell that is not padding has at least one character. */
function isMostlyFiller(whole: string, header: string, rows: string): boolean {
  return countSegments(header, '|') * countSegments(rows, '\n') > Math.max(maxFillerCells, whole.length)
}

function countEmphasisMarkers(text: string): number {
  return text.match(/[*_~]+/g)?.length ?? 0
}

function countSegments(text: string, separator: string): number {
  let count = 1
  for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1)) count += 1
  return count
}
