/**
 * Shortens texts for display. A text that may hold secrets must lose them first: half a secret is not recognised any more.
 */

/** At most `maxChars` code points; the last one of a shortened text is an ellipsis. */
export function shorten(text: string, maxChars: number): string {
  // A code point has at most two UTF-16 units.
  const characters = [...text.slice(0, maxChars * 2 + 2)]
  return characters.length <= maxChars ? text : `${characters.slice(0, maxChars - 1).join('')}…`
}

/** As `shorten`, on one line: white space, control characters and format characters become single spaces. */
export function shortenLine(text: string, maxChars: number): string {
  const line = text
    .slice(0, maxChars * 4)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
  return shorten(line, maxChars)
}
