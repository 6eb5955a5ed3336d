/**
 * Translates the words that a model searches for into conditions. Every word is quoted, so that no input is a syntax error.
 */

export interface RecallQuery {
  /** FTS5 expressions, the strictest first: a later one counts where the earlier ones find nothing. */
  readonly expressions: readonly string[]
  /**
   * Texts that the index cannot find, because it does not split the words of their script, or because they are signs. All
   * must occur in a message; with the second attempt any of them.
   */
  readonly texts: readonly string[]
}

const maxQueryChars = 1_000
const maxTerms = 24
/** Each one is compared with every message. */
const maxTexts = 6

interface Term {
  readonly text: string
  readonly isPhrase: boolean
}

/**
 * The words of the index that begin so. The index itself would read all of them, which may be thousands, for each query.
 */
export type ExpandPrefix = (beginning: string) => readonly string[]

/**
 * Words must all occur. `"…"` is a phrase, `OR` an alternative, `NOT` excludes the next word, `word*` is a beginning. Any
 * other sign is a part of a word.
 */
export function parseRecallQuery(query: string, expand: ExpandPrefix = () => []): RecallQuery {
  const terms = splitTerms(query.slice(0, maxQueryChars).toWellFormed()).slice(0, maxTerms)
  const words = terms.filter((term) => term.isPhrase || !operators.has(term.text))
  if (words.some(({ text }) => unsplitScript.test(text)) || !words.some(({ text }) => letter.test(text)))
    return { expressions: [], texts: words.map(({ text }) => text).slice(0, maxTexts) }
  return { expressions: expressionsOf(terms, expand), texts: [] }
}

const operators: ReadonlySet<string> = new Set(['AND', 'OR', 'NOT'])
const letter = /[\p{L}\p{N}]/u
/** Scripts whose words the tokenizer does not split, or whose words have endings without a boundary. */
const unsplitScript =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

function splitTerms(query: string): Term[] {
  return [...query.matchAll(/"([^"]*)"|([^\s"\0]+)/g)].flatMap(([, phrase, word]): Term[] => {
    const text = (phrase ?? word ?? '').replaceAll('\0', ' ').trim()
    return text === '' ? [] : [{ text, isPhrase: phrase !== undefined }]
  })
}

/** All words of an alternative; and where there are several words, any of them. Empty if only excluded words are left. */
function expressionsOf(terms: readonly Term[], expand: ExpandPrefix): string[] {
  const alternatives: { readonly must: string[]; readonly not: string[] }[] = []
  let current: (typeof alternatives)[number] | undefined
  let isExcluded = false
  for (const term of terms) {
    const operator = term.isPhrase ? '' : term.text
    if (operator === 'OR') current = undefined
    else if (!operators.has(operator) && letter.test(term.text)) {
      if (current === undefined) {
        current = { must: [], not: [] }
        alternatives.push(current)
      }
      const words = isExcluded ? current.not : current.must
      words.push(quote(term, expand))
    }
    isExcluded = operator === 'NOT'
  }
  const strict = alternatives.flatMap(({ must, not }) => without(must.join(' AND '), not)).join(' OR ')
  const words = alternatives.flatMap(({ must }) => must)
  const loose = without(
    words.join(' OR '),
    alternatives.flatMap(({ not }) => not),
  )
  return words.length > 1 ? [strict, ...loose] : [strict].filter((expression) => expression !== '')
}

/** Nothing for an empty expression. */
function without(expression: string, excluded: readonly string[]): string[] {
  if (expression === '') return []
  return excluded.length === 0 ? [`(${expression})`] : [`((${expression}) NOT (${excluded.join(' OR ')}))`]
}

function quote({ text, isPhrase }: Term, expand: ExpandPrefix): string {
  const isPrefix = !isPhrase && /[\p{L}\p{N}]\*$/u.test(text)
  if (!isPrefix) return inQuotes(text)
  // Signs part words; only the last word is a beginning.
  const [, before = '', last = ''] = /^(.*?)([\p{L}\p{N}\p{M}]+)$/u.exec(text.slice(0, -1)) ?? []
  const words = expand(last)
  return words.length === 0
    ? `${inQuotes(before + last)}*`
    : `(${words.map((word) => inQuotes(before + word)).join(' OR ')})`
}

function inQuotes(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}
