/**
 * Quotes a word for a POSIX shell, so that it arrives as it is.
 */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
