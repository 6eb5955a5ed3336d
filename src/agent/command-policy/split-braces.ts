/**
 * Splits `{a,b{c,d}}` at its own commas.
 */

/** The alternatives as source text; undefined for sequences such as `{1..9}` and for what is no brace expansion. */
export function splitBraces(text: string): string[] | undefined {
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined
  const choices: string[] = []
  let current = ''
  let depth = 0
  let quote = ''
  const body = text.slice(1, -1)
  for (let at = 0; at < body.length; at++) {
    const character = body.charAt(at)
    if (character === '\\') {
      current += character + body.charAt(++at)
      continue
    }
    if (quote !== '') {
      if (character === quote) quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '{' || character === '(') depth += 1
    else if (character === '}' || character === ')') depth -= 1
    else if (character === ',' && depth === 0) {
      choices.push(current)
      current = ''
      continue
    }
    current += character
  }
  return choices.length === 0 ? undefined : [...choices, current]
}
