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

/** Parses JSON text. Returns undefined, which is not a JSON value, for anything else. */
export function parseJson(text: string): unknown {
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
