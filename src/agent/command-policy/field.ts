/**
 * A word of a command after expansion, as far as it can be known without running anything.
 */

export type Piece =
  /** These very characters. */
  | { readonly kind: 'text'; readonly text: string }
  /** A file name pattern; `pattern` is the same as the source of a regular expression. */
  | { readonly kind: 'glob'; readonly text: string; readonly pattern: string }
  /** Known only when the command runs; `text` is what stands there. It may be nothing at all. */
  | { readonly kind: 'unknown'; readonly text: string }

export type Field = readonly Piece[]

export const textPiece = (text: string): Piece => ({ kind: 'text', text })
export const unknownPiece = (text: string): Piece => ({ kind: 'unknown', text })

/** The exact text, or undefined when a part of it is a pattern or unknown. */
export function literal(field: Field | undefined): string | undefined {
  if (field === undefined) return undefined
  return field.every((piece) => piece.kind === 'text') ? written(field) : undefined
}

/** The field as a person would write it. */
export function written(field: Field): string {
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
export function joined(fields: readonly Field[]): string | undefined {
  const words: string[] = []
  for (const field of fields) {
    const word = literal(field)
    if (word === undefined) return undefined
    words.push(word)
  }
  return words.join(' ')
}
