/**
 * Parses JSON5 (json5.org), the format of OpenClaw's configuration: JSON with comments, trailing commas, unquoted keys, strings in
 * single quotes and more forms of numbers. The package `json5` rounds the ids of chats, which have more digits than a number holds.
 */

/** The text is not JSON5. The message names line and column, and quotes nothing of the text. */
export class Json5Error extends Error {
  constructor(problem: string, line: number, column: number) {
    super(`${problem} in line ${line}, column ${column}`)
    this.name = 'Json5Error'
  }
}

const maxDepth = 100

const space = /(?:[\s\uFEFF]+|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y
const identifier = /[\p{L}\p{Nl}$_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}$_\u200C\u200D]*/uy
const number = /[-+]?(?:0x[\da-f]+|Infinity|NaN|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/iy
const plainText = { '"': /[^"\\\n\r]*/y, "'": /[^'\\\n\r]*/y } as const

const words: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }

const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '0': '\0',
  '\n': '',
  '\r': '',
  '\u2028': '',
  '\u2029': '',
}

/** An integer that a number cannot represent exactly becomes a string of its digits. Throws `Json5Error`. */
export function parseJson5(text: string): unknown {
  let at = 0

  function fail(problem: string): never {
    const before = text.slice(0, at).split(/\r\n|\n|\r/)
    throw new Json5Error(problem, before.length, (before.at(-1)?.length ?? 0) + 1)
  }

  function match(pattern: RegExp): string | undefined {
    pattern.lastIndex = at
    const token = pattern.exec(text)?.[0]
    at += token?.length ?? 0
    return token
  }

  /** Skips white space and comments, and returns the next character. */
  function next(): string {
    match(space)
    return text[at] ?? ''
  }

  function value(depth: number): unknown {
    if (depth > maxDepth) return fail(`more than ${maxDepth} levels`)
    const character = next()
    if (character === '{') return record(depth)
    if (character === '[') return list(depth)
    if (character === '"' || character === "'") return string(character)
    const digits = match(number)
    if (digits !== undefined) return toNumber(digits)
    const word = match(identifier)
    if (word !== undefined && Object.hasOwn(words, word)) return words[word]
    at -= word?.length ?? 0
    return fail(at >= text.length ? 'the text ends where a value was expected' : 'expected a value')
  }

  /** A long integer stays exact as a text: it is an id. */
  function toNumber(digits: string): number | string {
    const unsigned = digits.replace(/^[-+]/, '')
    const result = digits.startsWith('-') ? -Number(unsigned) : Number(unsigned)
    return /^\d+$/.test(unsigned) && !Number.isSafeInteger(result) ? digits : result
  }

  function record(depth: number): unknown {
    at += 1
    const entries: [string, unknown][] = []
    for (;;) {
      const character = next()
      if (character === '}') break
      const key = character === '"' || character === "'" ? string(character) : match(identifier)
      if (key === undefined) return fail(character === '' ? 'a } is missing' : 'expected a key')
      if (next() !== ':') return fail('expected a colon')
      at += 1
      // The entry becomes an own property: `__proto__` is a key like others.
      entries.push([key, value(depth + 1)])
      if (!separator('}')) break
    }
    at += 1
    return Object.fromEntries(entries)
  }

  function list(depth: number): unknown {
    at += 1
    const items: unknown[] = []
    while (next() !== ']') {
      items.push(value(depth + 1))
      if (!separator(']')) break
    }
    at += 1
    return items
  }

  /** False at the end of a list or record, which is not consumed. */
  function separator(end: '}' | ']'): boolean {
    const character = next()
    if (character === end) return false
    if (character !== ',') return fail(character === '' ? `a ${end} is missing` : `expected a comma or ${end}`)
    at += 1
    return true
  }

  function string(quote: '"' | "'"): string {
    at += 1
    let result = ''
    for (;;) {
      result += match(plainText[quote]) ?? ''
      const character = text[at]
      if (character === quote) break
      if (character !== '\\') return fail('a closing quote is missing')
      at += 1
      result += escaped()
    }
    at += 1
    return result
  }

  function escaped(): string {
    const letter = text[at] ?? ''
    at += 1
    if (letter === 'u' || letter === 'x') {
      const code = match(letter === 'u' ? /[\da-f]{4}/iy : /[\da-f]{2}/iy)
      return code === undefined ? fail('an incomplete escape') : String.fromCharCode(Number.parseInt(code, 16))
    }
    if (letter === '\r' && text[at] === '\n') at += 1
    return escapes[letter] ?? letter
  }

  const result = value(0)
  if (next() !== '') return fail('expected the end of the text')
  return result
}
