/**
 * Splits a command line into words as a shell does. Only quotes and backslashes are supported, because no shell runs the
 * command: variables, pipes and patterns have no meaning.
 */

const tokenPattern =
  /\\(?<escaped>[\s\S])|"(?<double>(?:[^"\\]|\\[\s\S])*)"|'(?<single>[^']*)'|(?<plain>[^\s"'\\]+)|(?<space>\s+)/y

/** `undefined` if a quote is not closed or the text has no word. */
export function splitShellWords(text: string): [string, ...string[]] | undefined {
  const pieces = new RegExp(tokenPattern)
  const words: string[] = []
  let word: string | undefined
  while (pieces.lastIndex < text.length) {
    const groups = pieces.exec(text)?.groups
    if (groups === undefined) return undefined
    const { escaped, double, single, plain, space } = groups
    if (space === undefined) word = `${word ?? ''}${escaped ?? unescapeDoubleQuoted(double) ?? single ?? plain ?? ''}`
    else if (word !== undefined) {
      words.push(word)
      word = undefined
    }
  }
  if (word !== undefined) words.push(word)
  const [first, ...rest] = words
  return first === undefined || first === '' ? undefined : [first, ...rest]
}

/** Between double quotes a backslash escapes only a backslash and a double quote. */
function unescapeDoubleQuoted(text: string | undefined): string | undefined {
  return text?.replace(/\\(["\\])/g, '$1')
}
