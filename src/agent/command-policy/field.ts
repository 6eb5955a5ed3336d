/**
 * A word of a command after expansion, as far as it can be known without running anything.
 */

export type FieldPart =
  /** These very characters. */
  | { readonly kind: 'text'; readonly text: string }
  /** A file name pattern; `pattern` is the same as the source of a regular expression. */
  | { readonly kind: 'glob'; readonly text: string; readonly pattern: string }
  /** Known only when the command runs; `text` is what stands there. It may be nothing at all. */
  | { readonly kind: 'unknown'; readonly text: string }

export type Field = readonly FieldPart[]

export const textPiece = (text: string): FieldPart => ({ kind: 'text', text })
export const unknownPiece = (text: string): FieldPart => ({ kind: 'unknown', text })

/** The exact text, or undefined when a part of it is a pattern or unknown. */
export function literalText(field: Field | undefined): string | undefined {
  if (field === undefined) return undefined
  return field.every((piece) => piece.kind === 'text') ? sourceText(field) : undefined
}

/** The field as a person would write it. */
export function sourceText(field: Field): string {
  return field.map((piece) => piece.text).join('')
}

export function hasUnknown(field: Field): boolean {
  return field.some((piece) => piece.kind === 'unknown')
}

/** Nothing of it is known, not even how it begins. */
export function startsUnknown(field: Field): boolean {
  return field[0]?.kind === 'unknown'
}

/** Removes a leading text such as `of=`; undefined when the field does not begin with it. */
export function withoutPrefix(field: Field, prefix: string): Field | undefined {
  const [first, ...rest] = field
  if (first?.kind !== 'text' || !first.text.startsWith(prefix)) return undefined
  return [textPiece(first.text.slice(prefix.length)), ...rest]
}

/** The words of several fields as one text; undefined when a part is not known. */
export function joinLiterals(fields: readonly Field[]): string | undefined {
  const words: string[] = []
  for (const field of fields) {
    const word = literalText(field)
    if (word === undefined) return undefined
    words.push(word)
  }
  return words.join(' ')
}
