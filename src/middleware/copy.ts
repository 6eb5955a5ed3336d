/**
 * Copies and compares plain data. Objects and arrays are copied; instances of classes, buffers and functions are shared, as
 * in Hermes.
 */

import { isPlainData } from '../lib/json.ts'
import type { Fields } from './contract.ts'

/** Deeper than any real request, and far below the limit of the call stack. */
const maxDepth = 100

/** A copy whose changes do not affect the original. Never throws. */
export function deepCopy<Value>(value: Value): Value
export function deepCopy(value: unknown): unknown {
  return copyOrShare(value, false)
}

/** A copy for observers, without credential headers. Never throws. */
export function redactedCopy(value: unknown): unknown {
  return copyOrShare(value, true)
}

/** A deeply frozen copy. Never throws. */
export function frozenCopy<Value>(value: Value): Value {
  return deepFreeze(deepCopy(value), 0)
}

function deepFreeze<Value>(value: Value, depth: number): Value {
  // The depth limit ends cycles. Instances of classes are shared, so they must not be frozen.
  if (depth > maxDepth || !isPlainData(value)) return value
  for (const item of Object.values(value)) if (typeof item === 'object' && item !== null) deepFreeze(item, depth + 1)
  return Object.freeze(value)
}

function copyOrShare(value: unknown, redactCredentials: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value
  try {
    return copyObject(value, 0, redactCredentials, undefined)
  } catch {
    // A cycle, very deep data, or a getter that throws.
    return copyWithCycles(value, redactCredentials)
  }
}

function copyWithCycles(value: object, redactCredentials: boolean): unknown {
  try {
    return copyObject(value, 0, redactCredentials, new Map())
  } catch {
    // Observers receive null rather than credentials; a rewriter receives the original object.
    return redactCredentials ? null : value
  }
}

/** With `seen`, cycles are copied as cycles. Without it, data deeper than `maxDepth` throws. */
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
/** The first letter of the credential header of each length. No two of them have the same length. */
const firstLetterByLength: readonly (number | undefined)[] = Array.from({ length: 20 }, (_, length) =>
  [...credentialHeaders].find((name) => name.length === length)?.charCodeAt(0),
)

/** Whether a header of this name carries credentials (`contract/middleware.md` §1.8). */
function isCredentialHeader(name: string): boolean {
  // Rejects nearly every key without `toLowerCase`, which costs more than the rest of the copy.
  const first = firstLetterByLength[name.length]
  return first !== undefined && (name.charCodeAt(0) | 0x20) === first && credentialHeaders.has(name.toLowerCase())
}

/** Whether two values hold the same plain data. Other objects are compared by identity. */
export function deepEqual(a: unknown, b: unknown): boolean {
  try {
    return deepEqualAtDepth(a, b, 0)
  } catch {
    // Too deep to compare: treated as changed, which only costs a second check.
    return false
  }
}

/** Uses loops without arrays of keys, because it runs for every wrapped call. */
function deepEqualAtDepth(a: unknown, b: unknown, depth: number): boolean {
  if (Object.is(a, b)) return true
  if (!isObject(a) || !isObject(b)) return false
  if (depth > maxDepth) throw new RangeError('too deep')
  if (Array.isArray(a)) return Array.isArray(b) && equalItems(a, b, depth + 1)
  const prototype = Object.getPrototypeOf(a)
  if ((prototype !== Object.prototype && prototype !== null) || Object.getPrototypeOf(b) !== prototype) return false
  return equalFields(a, b, depth + 1)
}

function equalItems(a: readonly unknown[], b: readonly unknown[], depth: number): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) {
    const item = a[index]
    if (item !== b[index] && !deepEqualAtDepth(item, b[index], depth)) return false
  }
  return true
}

function equalFields(a: Fields, b: Fields, depth: number): boolean {
  let count = 0
  for (const key in a) {
    count++
    const item = a[key]
    if (item !== b[key] && !deepEqualAtDepth(item, b[key], depth)) return false
  }
  for (const key in b) {
    count--
    if (!(key in a)) return false
  }
  return count === 0
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
