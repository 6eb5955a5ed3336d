/**
 * Quotes words for a POSIX shell.
 */
export function quoteWord(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
