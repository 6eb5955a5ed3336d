/**
 * Splits a command line into arguments at its blanks. Quotes and backslashes have the meaning that they have in a shell; nothing
 * is expanded. Pure.
 */

/** Undefined when a quote is not closed. */
export function splitCommand(line: string): readonly string[] | undefined {
  const words: string[] = []
  const piece = /\s+|'(?<single>[^']*)'|"(?<double>(?:[^"\\]|\\.)*)"|\\(?<escaped>.)|(?<plain>[^\s'"\\]+)/gsy
  let word: string | undefined
  while (piece.lastIndex < line.length) {
    const groups = piece.exec(line)?.groups
    if (groups === undefined) return undefined
    const { single, double, escaped, plain } = groups
    const text = single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain
    if (text === undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = `${word ?? ''}${text}`
  }
  return word === undefined ? words : [...words, word]
}
