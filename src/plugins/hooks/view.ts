/**
 * What one callback sees of a payload: an object of its own. Texts and numbers are shared; objects are copied when the
 * callback looks at them, so that what nobody reads costs nothing and nobody can change what another one reads.
 */
import { inspect } from 'node:util'

/** Objects that are not plain (signals, handles) are shared as they are. */
export function viewOf(payload: object): object {
  const view: Record<string, unknown> = { ...payload }
  let isLazy = false
  for (const key in view) {
    const value = view[key]
    if (!isCopied(value)) continue
    if (isEmptyList(value)) view[key] = []
    else {
      isLazy = true
      copyWhenRead(view, key, value)
    }
  }
  return isLazy ? Object.defineProperty(view, inspect.custom, shownByItsValues) : view
}

function copyWhenRead(view: object, key: string, original: object): void {
  Object.defineProperty(view, key, {
    enumerable: true,
    configurable: true,
    get() {
      const value = copyOf(original)
      settle(view, key, value)
      return value
    },
    set: (value: unknown) => settle(view, key, value),
  })
}

function settle(view: object, key: string, value: unknown): void {
  Object.defineProperty(view, key, { value, enumerable: true, configurable: true, writable: true })
}

/** `console.log(payload)` shows values, not accessors. */
const shownByItsValues: PropertyDescriptor = {
  value(this: object) {
    return { ...this }
  },
}

function isEmptyList(value: object): boolean {
  return Array.isArray(value) && value.length === 0
}

function isCopied(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** A deep copy of data as JSON has it. Throws what getters and proxies throw, and `RangeError` for a circle. */
export function copyOf(value: unknown): unknown {
  if (!isCopied(value)) return value
  if (Array.isArray(value)) return value.map(copyOf)
  // Spread first: then a key `__proto__` is one like any other.
  const copy: Record<string, unknown> = { ...value }
  for (const key in copy) {
    const inner = copy[key]
    if (typeof inner === 'object') copy[key] = copyOf(inner)
  }
  return copy
}
