/**
 * Copies of plain data. Strings are shared, objects and arrays are new; what is neither (an instance of a class, a buffer,
 * a function) stays the same object, as in Hermes, which falls back to sharing what cannot be copied.
 */

import type { Fields } from './contract.ts'

/** Deeper than requests are, and far from the end of the stack. */
const maxDepth = 100

/** A copy that can be changed without the original noticing. Never throws. */
export function deepCopy<Value>(value: Value): Value
export function deepCopy(value: unknown): unknown {
  return copyOrShare(value, false)
}

/** What observers may see of a value: a copy, without the headers that prove who somebody is. Never throws. */
export function redactedCopy(value: unknown): unknown {
  return copyOrShare(value, true)
}

/** A copy that nobody can change. Never throws. */
export function frozenCopy<Value>(value: Value): Value {
  return deepFreeze(deepCopy(value), 0)
}

function deepFreeze<Value>(value: Value, depth: number): Value {
  // A circle would never end; instances of classes were not copied.
  if (depth > maxDepth || !isPlainData(value)) return value
  for (const item of Object.values(value)) if (typeof item === 'object' && item !== null) deepFreeze(item, depth + 1)
  return Object.freeze(value)
}

function isPlainData(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function copyOrShare(value: unknown, redactCredentials: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value
  try {
    return copyObject(value, 0, redactCredentials, undefined)
  } catch {
    // A circle, something very deep, or a getter that throws.
    return copyWithCycles(value, redactCredentials)
  }
}

function copyWithCycles(value: object, redactCredentials: boolean): unknown {
  try {
    return copyObject(value, 0, redactCredentials, new Map())
  } catch {
    // Observers get nothing rather than headers; a rewriter gets the very object.
    return redactCredentials ? null : value
  }
}

/** With `seen`, circles become circles of the copy; without, anything beyond `deepest` throws. */
function copyObject(
  value: object,
  depth: number,
  redactCredentials: boolean,
  seen: Map<object, object> | undefined,
): unknown {
  if (seen === undefined) {
    if (depth > maxDepth) throw new RangeError('too deep')
  } else {
    const known = seen.get(value)
    if (known !== undefined) return known
  }
  if (Array.isArray(value)) {
    const list: unknown[] = value.slice()
    seen?.set(value, list)
    for (let index = 0; index < list.length; index++) {
      const item = list[index]
      if (typeof item === 'object' && item !== null) list[index] = copyObject(item, depth + 1, redactCredentials, seen)
    }
    return list
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    return redactCredentials && value instanceof Headers
      ? copyObject(Object.fromEntries(value), depth, redactCredentials, seen)
      : value
  }
  const fields: Record<string, unknown> = { ...value }
  seen?.set(value, fields)
  for (const key in fields) {
    if (redactCredentials && isCredentialHeader(key)) {
      delete fields[key]
      continue
    }
    const item = fields[key]
    if (typeof item === 'object' && item !== null) fields[key] = copyObject(item, depth + 1, redactCredentials, seen)
  }
  return fields
}

const credentialHeaders = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'anthropic-api-key',
  'x-goog-api-key',
])
/** By length, the first letter of the one that is so long; no two are of the same length. */
const firstLetterByLength: readonly (number | undefined)[] = Array.from({ length: 20 }, (_, length) =>
  [...credentialHeaders].find((name) => name.length === length)?.charCodeAt(0),
)

/** Whether a header of this name proves who somebody is (`contract/middleware.md` §1.8). */
function isCredentialHeader(name: string): boolean {
  // Nearly every key ends here; making small letters costs more than all the rest.
  const first = firstLetterByLength[name.length]
  return first !== undefined && (name.charCodeAt(0) | 0x20) === first && credentialHeaders.has(name.toLowerCase())
}

/** Whether two values hold the same plain data. What is not plain data is the same only as the same object. */
export function deepEqual(one: unknown, other: unknown): boolean {
  try {
    return deepEqualAtDepth(one, other, 0)
  } catch {
    // Too deep to tell: then it counts as changed, which costs a second look and nothing else.
    return false
  }
}

/** By loops and without lists of keys: this runs for each call that somebody wraps. */
function deepEqualAtDepth(one: unknown, other: unknown, depth: number): boolean {
  if (Object.is(one, other)) return true
  if (!isObject(one) || !isObject(other)) return false
  if (depth > maxDepth) throw new RangeError('too deep')
  if (Array.isArray(one)) return Array.isArray(other) && equalItems(one, other, depth + 1)
  const prototype = Object.getPrototypeOf(one)
  if ((prototype !== Object.prototype && prototype !== null) || Object.getPrototypeOf(other) !== prototype) return false
  return equalFields(one, other, depth + 1)
}

function equalItems(one: readonly unknown[], other: readonly unknown[], depth: number): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) {
    const item = one[index]
    if (item !== other[index] && !deepEqualAtDepth(item, other[index], depth)) return false
  }
  return true
}

function equalFields(one: Fields, other: Fields, depth: number): boolean {
  let count = 0
  for (const key in one) {
    count++
    const item = one[key]
    if (item !== other[key] && !deepEqualAtDepth(item, other[key], depth)) return false
  }
  for (const key in other) {
    count--
    if (!(key in one)) return false
  }
  return count === 0
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
