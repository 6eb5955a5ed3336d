/**
 * The lexer of `marked` with limits, because the text of a model is untrusted: a short text can define a table with millions
 * of cells, and unmatched emphasis markers cost quadratic time.
 *
 * It also reads what models write and CommonMark does not: formulas, emphasis next to scripts without spaces, and `<br>`.
 */
import { Hooks, Lexer, type MarkedOptions, type Token, Tokenizer, type Tokens, type TokensList } from 'marked'
import { decodeHtmlEntities } from './html-entities.ts'
import { emphasisRules } from './markdown-emphasis.ts'
import { findInlineMath, findMathBlockStart, matchMathBlock, type TextSpan } from './markdown-math.ts'

/** `marked` pads rows to the width of the header. A table may have this many padding cells. */
const maxFillerCells = 1_000
/** Deeper quotes and lists stay plain text. Renderers do not format them either. */
const maxBlockDepth = 24
/** Characters of all blocks, counted again on each level of nesting. */
const maxBlockChars = 600_000
/** Blocks inside of blocks, inline texts, and characters that may be markup. A token takes some microseconds. */
const maxNestedBlocks = 3_000
const maxInlineTexts = 4_000
const maxMarkers = 8_000
const maxTables = 300
/** The lines after these are shown unformatted. */
const maxLines = 4_000
/** Longer addresses are no links: the search for the end of one takes quadratic time. */
const longAddress = /^(?:(?:https?|ftp):\/\/|www\.)\S{2049}/i
/** Emphasis markers times characters, summed over all inline texts. This takes a quarter of a second. */
const maxEmphasisWork = 8_000_000

/**
 * Returns the blocks of a text. The text of a token is decoded: it contains no character references.
 * A table or inline text that would take too long stays plain text. Throws RangeError.
 */
export function lexMarkdown(text: string): readonly Token[] {
  const end = endOfLines(text, maxLines)
  const tokens = new ModelLexer(new ModelTokenizer(), /[$\\]/.test(text)).lex(text.slice(0, end))
  if (end === text.length) return tokens
  const rest = text.slice(end)
  return [...tokens, { type: 'paragraph', raw: rest, text: rest, tokens: [plainText(rest)] }]
}

/** The end of the first `count` lines. */
function endOfLines(text: string, count: number): number {
  let end = 0
  for (let line = 0; line < count; line += 1) {
    end = text.indexOf('\n', end) + 1
    if (end === 0) return text.length
  }
  return end
}

/** The formulas of the inline text that is being read. */
class InlineMath {
  /** Formulas before this index are behind the current position. */
  private next = 0
  private readonly chars: number
  private readonly spans: readonly TextSpan[]

  constructor(text: string) {
    this.chars = text.length
    this.spans = findInlineMath(text)
  }

  /** The first formula at or after the start of `rest`, which is the end of the text. Offsets refer to `rest`. */
  ahead(rest: string): TextSpan | undefined {
    const at = this.chars - rest.length
    while ((this.spans[this.next]?.start ?? at) < at) this.next += 1
    const span = this.spans[this.next]
    return span === undefined ? undefined : { start: span.start - at, end: span.end - at }
  }

  /** The text without the characters of its formulas, at the same length. */
  mask(text: string): string {
    let masked = ''
    let at = 0
    for (const { start, end } of this.spans) {
      masked += `${text.slice(at, start)}${'a'.repeat(end - start)}`
      at = end
    }
    return masked + text.slice(at)
  }
}

class ModelTokenizer extends Tokenizer {
  math: InlineMath | undefined
  private tablesLeft = maxTables

  override table(src: string): Tokens.Table | undefined {
    if (this.tablesLeft === 0) return undefined
    const [whole, header = '', , rows = ''] = this.rules.block.table.exec(src) ?? []
    if (whole === undefined || isMostlyFiller(whole, header, rows)) return undefined
    this.tablesLeft -= 1
    return super.table(src)
  }

  /** A line that starts with `<br>` is a paragraph, not a block of HTML. */
  override html(src: string): Tokens.HTML | undefined {
    return lineBreakTag.test(src.trimStart()) ? undefined : super.html(src)
  }

  override tag(src: string): Tokens.Tag | undefined {
    return lineBreakTag.test(src) ? undefined : super.tag(src)
  }

  override br(src: string): Tokens.Br | undefined {
    const raw = lineBreakTag.exec(src)?.[0]
    return raw === undefined ? super.br(src) : { type: 'br', raw }
  }

  /** The first inline rule. A formula is literal text, like an escaped character. */
  override escape(src: string): Tokens.Escape | undefined {
    const formula = this.math?.ahead(src)
    return formula?.start === 0 ? literal(src.slice(0, formula.end)) : super.escape(src)
  }

  override inlineText(src: string): Tokens.Text | undefined {
    const token = super.inlineText(src.slice(0, this.math?.ahead(src)?.start))
    return token === undefined ? undefined : { ...token, text: decodeHtmlEntities(token.raw) }
  }

  override url(src: string): Tokens.Link | undefined {
    return longAddress.test(src) ? undefined : super.url(src)
  }

  override link(src: string): Tokens.Link | Tokens.Image | undefined {
    const token = super.link(src)
    return token === undefined ? undefined : decodeLink(token)
  }

  override reflink(src: string, links: Tokenizer['lexer']['tokens']['links']) {
    const token = super.reflink(src, links)
    return token === undefined || token.type === 'text' ? token : decodeLink(token)
  }
}

class ModelLexer extends Lexer {
  private readonly rules: ModelTokenizer
  private readonly hasMath: boolean
  private workLeft = maxEmphasisWork
  private blockCharsLeft = maxBlockChars
  private nestedBlocksLeft = maxNestedBlocks
  private inlineTextsLeft = maxInlineTexts
  private markersLeft = maxMarkers
  private depth = 0

  constructor(tokenizer: ModelTokenizer, hasMath: boolean) {
    super(hasMath ? { gfm: true, tokenizer, ...mathOptions(tokenizer) } : { gfm: true, tokenizer })
    this.rules = tokenizer
    this.hasMath = hasMath
    const { rules } = tokenizer
    tokenizer.rules = { ...rules, inline: { ...rules.inline, ...emphasisRules } }
  }

  override blockTokens(src: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[]
  override blockTokens(src: string, tokens?: TokensList, lastParagraphClipped?: boolean): TokensList
  override blockTokens(src: string, tokens: Token[] = [], lastParagraphClipped = false): Token[] {
    this.blockCharsLeft -= src.length
    this.nestedBlocksLeft -= 1
    const isExhausted = this.depth > maxBlockDepth || this.blockCharsLeft < 0 || this.nestedBlocksLeft < 0
    if (this.depth > 0 && isExhausted) {
      tokens.push({ type: 'paragraph', raw: src, text: src, tokens: [plainText(src)] })
      return tokens
    }
    this.depth += 1
    try {
      return super.blockTokens(src, tokens, lastParagraphClipped)
    } finally {
      this.depth -= 1
    }
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    const work = countEmphasisMarkers(src) * src.length
    this.inlineTextsLeft -= 1
    this.markersLeft -= src.match(markers)?.length ?? 0
    if (work > this.workLeft || this.inlineTextsLeft < 0 || this.markersLeft < 0) {
      tokens.push(plainText(src))
      return tokens
    }
    this.workLeft -= work
    if (!this.hasMath) return super.inlineTokens(src, tokens)
    const outer = this.rules.math
    this.rules.math = new InlineMath(src)
    try {
      return super.inlineTokens(src, tokens)
    } finally {
      this.rules.math = outer
    }
  }
}

/** Hides formulas from the search for emphasis, and reads formulas on lines of their own. */
function mathOptions(tokenizer: ModelTokenizer): MarkedOptions {
  const hooks = new Hooks()
  hooks.emStrongMask = (masked) => tokenizer.math?.mask(masked) ?? masked
  return {
    hooks,
    extensions: {
      renderers: {},
      childTokens: {},
      block: [
        (src) => {
          const raw = matchMathBlock(src)
          // It is no paragraph, because `marked` may append the next line to one.
          return raw === undefined ? undefined : { type: 'escape', raw, text: raw.trim() }
        },
      ],
      startBlock: [(src) => findMathBlockStart(src)],
    },
  }
}

const markers = /[\\`*_~[\]<!$]/g
const lineBreakTag = /^<br[ \t]*\/?>/i

function plainText(raw: string): Tokens.Text {
  return { type: 'text', raw, text: decodeHtmlEntities(raw), escaped: false }
}

function literal(raw: string): Tokens.Escape {
  return { type: 'escape', raw, text: raw }
}

function decodeLink<Type extends Tokens.Link | Tokens.Image>(token: Type): Type {
  const { href, title } = token
  const text = token.type === 'image' ? decodeHtmlEntities(token.text) : token.text
  return { ...token, href: decodeHtmlEntities(href), title: title && decodeHtmlEntities(title), text }
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
