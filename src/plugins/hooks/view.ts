/**
 * What one callback sees of a payload: an object of its own. Texts and numbers are shared; objects are copied when the
 * callback looks at them, so that what nobody reads costs nothing and nobody can change what another one reads.
 */
import { inspect } from 'node:util'

/** Objects that are not plain (signals, handles) are shared as they are. */
export function viewOf(payload: object): object {
  const view = {}
  for (const [key, value] of Object.entries(payload)) {
    if (isCopied(value)) copyWhenRead(view, key, value)
    else Object.defineProperty(view, key, plain(value))
  }
  // `console.log(payload)` shows values, not accessors.
  return Object.defineProperty(view, inspect.custom, { value: () => ({ ...view }) })
}

function copyWhenRead(view: object, key: string, original: object): void {
  const set = (value: unknown) => void Object.defineProperty(view, key, plain(value))
  Object.defineProperty(view, key, {
    enumerable: true,
    configurable: true,
    get() {
      const value = copyOf(original)
      set(value)
      return value
    },
    set,
  })
}

function plain(value: unknown): PropertyDescriptor {
  return { value, enumerable: true, configurable: true, writable: true }
}

function isCopied(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** A deep copy of data as JSON has it. */
export function copyOf(value: unknown): unknown {
  if (!isCopied(value)) return value
  if (Array.isArray(value)) return value.map(copyOf)
  // Spread first: then a key `__proto__` is one like any other.
  const copy: Record<string, unknown> = { ...value }
  for (const [key, inner] of Object.entries(copy)) if (isCopied(inner)) copy[key] = copyOf(inner)
  return copy
}
