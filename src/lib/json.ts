/**
 * Typed access to JSON from outside the process, and JSON that is safe to print. None of these functions throws.
 */

/** A JSON object whose fields have not been checked. */
export type JsonObject = { readonly [key: string]: unknown }

/** Whether the value is an object with keys: neither null nor an array. */
export function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether the value is an array or a plain object, and not an instance of a class. */
export function isPlainData(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The value if it is a record, otherwise an empty one, so that a chain of look-ups needs no checks in between. */
export function asRecord(value: unknown): JsonObject {
  return isRecord(value) ? value : {}
}

/** The value if it is a string, otherwise ''. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The value if it is a finite number, otherwise 0. */
export function asNumber(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

/** The value if it is an array, otherwise an empty one. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Parses JSON text. Returns undefined, which is not a JSON value, for anything else and for text that is nested too deeply. */
export function parseJson(text: string): unknown {
  if (exceedsMaxDepth(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether arrays and records are nested more than `limit` levels deep. Iterative, so that deep input cannot overflow the stack. */
export function exceedsDepth(value: unknown, limit: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) return true
    const below: unknown[] = []
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue
      for (const child of Object.values(item)) if (typeof child === 'object' && child !== null) below.push(child)
    }
    level = below
  }
  return false
}

/** Characters that JSON leaves unescaped but a terminal or an editor interprets: C1 controls, separators and direction marks. */
const printedControls = /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** Escapes them. The JSON value stays the same. */
export function escapeJsonLine(json: string): string {
  return json.replace(printedControls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
/** Far above the depth of meaningful values. */
const maxTextDepth = 1_000

/**
 * Checks the nesting of JSON without parsing it: deep nesting is cheap to send and expensive to parse. The result for text that
 * is not JSON is undefined but harmless.
 */
export function exceedsMaxDepth(text: string): boolean {
  // Each opening bracket needs a closing one.
  return text.length >= 2 * maxTextDepth && exceedsLimits(text, Number.POSITIVE_INFINITY)
}

/** An object is parsed in time proportional to its keys, and 100,000 keys take about 50 ms. */
const maxTextKeys = 100_000

/** Whether JSON text of others is nested so deeply, or has so many keys, that parsing it would hold the event loop. */
export function isTooComplex(text: string): boolean {
  return text.length >= 2 * maxTextDepth && exceedsLimits(text, maxTextKeys)
}

function exceedsLimits(text: string, maxKeys: number): boolean {
  let depth = 0
  let keys = 0
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === quote) at = endOfString(text, at)
    else if (sign === 0x5b || sign === 0x7b) depth += 1
    else if (sign === 0x5d || sign === 0x7d) depth -= 1
    else if (sign === colon) keys += 1
    if (depth > maxTextDepth || keys > maxKeys) return true
  }
  return false
}

/** Skips a string with `indexOf`, because long lines consist mostly of strings. */
function endOfString(line: string, start: number): number {
  for (let end = line.indexOf('"', start + 1); end !== -1; end = line.indexOf('"', end + 1)) {
    let before = end - 1
    while (line.charCodeAt(before) === backslash) before -= 1
    if ((end - before) % 2 === 1) return end
  }
  return line.length
}

/** The value at a path; undefined where there is none. Without iteration: a list with a thousand wrong values would take seconds. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined
    current = Object.getOwnPropertyDescriptor(current, key)?.value
  }
  return current
}
