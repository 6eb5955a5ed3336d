/**
 * How a line of the log looks on a terminal: time, level, sentence, then what is known about it.
 *
 * Values come from strangers (names, messages, answers of servers): no control character reaches the terminal, so that
 * nobody can forge a line or steer the terminal.
 */

const colours: Readonly<Record<string, string>> = { debug: '90', info: '32', warn: '33', error: '31' }

/** Control characters, line separators and the marks that turn the direction of writing. */
const controlCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** Those of them that JSON does not escape by itself. */
const unescapedInJson = /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** Escapes what JSON leaves as it is but a terminal or an editor acts upon. The text stays the same JSON. */
export function escapeJsonLine(line: string): string {
  return line.replace(unescapedInJson, unicodeEscape)
}

/** A value with every dangerous character written out. */
function escapeControlCharacters(text: string): string {
  return text.replace(controlCharacters, (character) => {
    if (character === '\n') return '\\n'
    return character === '\t' ? ' ' : unicodeEscape(character)
  })
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** One finished JSON line as people read it; the line itself where it is not JSON. Ends with a line break. */
export function formatTerminalLine(jsonLine: string, colour: boolean): string {
  const fields = parseFields(jsonLine)
  if (fields === undefined) return `${escapeControlCharacters(jsonLine.trimEnd())}\n`
  const { level, time, msg, ...rest } = fields
  const paint = (code: string, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text)
  const stacks: string[] = []
  const details = Object.entries(rest).map(
    ([key, value]) => ` ${paint('2', `${escapeControlCharacters(key)}=`)}${formatValue(value, stacks)}`,
  )
  const levelName = String(level)
  const head = `${paint('2', clockTime(time))} ${paint(colours[levelName] ?? '0', escapeControlCharacters(levelName).padEnd(5))}`
  const trace = stacks.flatMap((stack) => stack.split('\n').map((line) => `\n    ${escapeControlCharacters(line)}`))
  return `${head} ${escapeControlCharacters(String(msg ?? ''))}${details.join('')}${trace.join('')}\n`
}

function parseFields(line: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(line)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined
  } catch {
    // Every line is JSON unless a redaction broke it; then it is shown as it is.
    return undefined
  }
}

/** `2026-11-20T10:11:12.345Z` → the local wall clock, which is what people look at. */
function clockTime(time: unknown): string {
  const at = new Date(typeof time === 'string' || typeof time === 'number' ? time : Number.NaN)
  if (Number.isNaN(at.getTime())) return '--:--:--.---'
  const two = (value: number) => String(value).padStart(2, '0')
  const seconds = `${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`
  return `${two(at.getHours())}:${two(at.getMinutes())}:${seconds}`
}

function formatValue(value: unknown, stacks: string[]): string {
  if (typeof value === 'string')
    return /^[^\s"=]+$/.test(value) ? escapeControlCharacters(value) : escapeControlCharacters(JSON.stringify(value))
  if (isErrorValue(value)) return escapeControlCharacters(JSON.stringify(formatError(value, stacks)))
  return escapeControlCharacters(JSON.stringify(value) ?? 'undefined')
}

interface ErrorValue {
  readonly message: string
  readonly code?: unknown
  readonly hint?: unknown
  readonly cause?: unknown
  readonly stack?: unknown
}

function isErrorValue(value: unknown): value is ErrorValue {
  return typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string'
}

/** `message [code] (hint) ← cause`: an error as one sentence. */
function formatError(error: ErrorValue, stacks: string[]): string {
  if (typeof error.stack === 'string') stacks.push(error.stack)
  const code = typeof error.code === 'string' ? ` [${error.code}]` : ''
  const hint = typeof error.hint === 'string' ? ` (${error.hint})` : ''
  if (error.cause === undefined) return `${error.message}${code}${hint}`
  const cause = isErrorValue(error.cause) ? formatError(error.cause, stacks) : JSON.stringify(error.cause)
  return `${error.message}${code}${hint} ← ${cause}`
}
