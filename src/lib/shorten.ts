/**
 * Shortens texts for display. For a text that may hold secrets see `toShortLine`.
 */

/** At most `maxChars` code points; the last one of a shortened text is an ellipsis. */
export function shorten(text: string, maxChars: number): string {
  // A code point has at most two UTF-16 units.
  const characters = [...text.slice(0, maxChars * 2 + 2)]
  return characters.length <= maxChars ? text : `${characters.slice(0, maxChars - 1).join('')}…`
}
