/**
 * A word of a command after expansion, as far as it can be known without running anything, and helpers that read the
 * arguments of a command as getopt does.
 */

export type FieldPart =
  /** Exactly these characters. */
  | { readonly kind: 'text'; readonly text: string }
  /** A file name pattern; `pattern` is its source as a regular expression. */
  | { readonly kind: 'glob'; readonly text: string; readonly pattern: string }
  /** Known only at run time; `text` is the source text. The value may be empty. */
  | { readonly kind: 'unknown'; readonly text: string }

export type Field = readonly FieldPart[]

export const textPiece = (text: string): FieldPart => ({ kind: 'text', text })
export const unknownPiece = (text: string): FieldPart => ({ kind: 'unknown', text })

/** The exact text, or undefined when a part of it is a pattern or unknown. */
export function literalText(field: Field | undefined): string | undefined {
  if (field === undefined) return undefined
  let text = ''
  for (const piece of field) {
    if (piece.kind !== 'text') return undefined
    text += piece.text
  }
  return text
}

/** The source text of the field. */
export function sourceText(field: Field): string {
  const [first, second] = field
  return second === undefined ? (first?.text ?? '') : field.map((piece) => piece.text).join('')
}

export function hasUnknown(field: Field): boolean {
  return field.some((piece) => piece.kind === 'unknown')
}

/** Not even the beginning of the field is known. */
export function startsUnknown(field: Field): boolean {
  return field[0]?.kind === 'unknown'
}

/** Removes a leading text such as `of=`; undefined when the field does not begin with it. */
export function withoutPrefix(field: Field, prefix: string): Field | undefined {
  const [first, ...rest] = field
  if (first?.kind !== 'text' || !first.text.startsWith(prefix)) return undefined
  return [textPiece(first.text.slice(prefix.length)), ...rest]
}

/** Joins the literal texts with spaces; undefined when a part of a field is unknown. */
export function joinLiterals(fields: readonly Field[]): string | undefined {
  const words: string[] = []
  for (const field of fields) {
    const word = literalText(field)
    if (word === undefined) return undefined
    words.push(word)
  }
  return words.join(' ')
}

/** Whether one of the short options (`-rf` has r and f) or long options (`--recursive`, also abbreviated) is present. */
export function hasOption(args: readonly Field[], letters: string, names: readonly string[] = []): boolean {
  for (const field of args) {
    const text = literalText(field)
    if (text === '--') return false
    if (text === undefined || !text.startsWith('-')) continue
    if (text.startsWith('--')) {
      const name = text.slice(2).split('=')[0] ?? ''
      if (name.length > 2 && names.some((known) => known.startsWith(name))) return true
    } else if ([...text.slice(1)].some((letter) => letters.includes(letter))) return true
  }
  return false
}

/**
 * Returns the arguments that are not options. Which options take a value is not known here, so the value of an option
 * counts as an operand.
 */
export function operands(args: readonly Field[]): Field[] {
  const values: Field[] = []
  let only = false
  for (const field of args) {
    const text = literalText(field)
    if (!only && text === '--') only = true
    else if (only || text === undefined || text === '-' || !text.startsWith('-')) values.push(field)
  }
  return values
}

/** Returns the arguments whose text is known. */
export function literalArguments(args: readonly Field[]): string[] {
  return args.map(literalText).filter((text) => text !== undefined)
}
