/**
 * Makes texts fit into lines. For a text that may hold secrets see `toShortLine`.
 */

/** White space and line breaks become single blanks. */
export function toOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** At most `maxChars` code points; the last one of a shortened text is an ellipsis. */
export function shorten(text: string, maxChars: number): string {
  // A code point has at most two UTF-16 units.
  const characters = [...text.slice(0, maxChars * 2 + 2)]
  return characters.length <= maxChars ? text : `${characters.slice(0, maxChars - 1).join('')}…`
}
