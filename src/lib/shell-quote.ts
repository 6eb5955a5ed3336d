/**
 * Quotes words for a POSIX shell.
 */
export function quoteWord(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}

/** Quotes only a path that needs it, for commands that people read. */
export function quotePath(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : quoteWord(path)
}
