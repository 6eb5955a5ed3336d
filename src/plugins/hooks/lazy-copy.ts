/**
 * Gives each callback its own copy of a payload. Primitive values are copied immediately and objects on first access, so
 * that unused values cost nothing and no callback can change the payload of another one.
 */
import { inspect } from 'node:util'
import { isPlainData } from '../../lib/json.ts'

/** Objects that are not plain data (signals, handles) are shared. */
export function lazyCopyOf(payload: object): object {
  const copy: Record<string, unknown> = { ...payload }
  let isLazy = false
  for (const key in copy) {
    const value = copy[key]
    if (!isPlainData(value)) continue
    if (isEmptyList(value)) copy[key] = []
    else {
      isLazy = true
      defineLazyCopy(copy, key, value)
    }
  }
  return isLazy ? Object.defineProperty(copy, inspect.custom, inspectDescriptor) : copy
}

function defineLazyCopy(view: object, key: string, original: object): void {
  Object.defineProperty(view, key, {
    enumerable: true,
    configurable: true,
    get() {
      const value = deepCopy(original)
      defineValue(view, key, value)
      return value
    },
    set: (value: unknown) => defineValue(view, key, value),
  })
}

function defineValue(view: object, key: string, value: unknown): void {
  Object.defineProperty(view, key, { value, enumerable: true, configurable: true, writable: true })
}

/** `console.log(payload)` shows values, not accessors. */
const inspectDescriptor: PropertyDescriptor = {
  value(this: object) {
    return { ...this }
  },
}

function isEmptyList(value: object): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Copies plain JSON data. Throws errors of getters and proxies, and `RangeError` for a circular reference. */
export function deepCopy(value: unknown): unknown {
  if (!isPlainData(value)) return value
  if (Array.isArray(value)) return value.map(deepCopy)
  // The spread defines a key `__proto__` as an ordinary property.
  const copy: Record<string, unknown> = { ...value }
  for (const key in copy) {
    const inner = copy[key]
    if (typeof inner === 'object') copy[key] = deepCopy(inner)
  }
  return copy
}
