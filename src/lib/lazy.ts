/**
 * A value that is made with its first use.
 */

export interface Lazy<T> {
  (): T
  /** What was made; undefined before the first use. */
  made(): T | undefined
}

/** Calls `load` once. A promise that rejects is forgotten, so that the next call tries again. */
export function lazy<T>(load: () => T): Lazy<T> {
  let loaded: { readonly value: T } | undefined
  const get = (): T => {
    if (loaded !== undefined) return loaded.value
    const value = load()
    loaded = { value }
    if (value instanceof Promise)
      value.catch(() => {
        loaded = undefined
      })
    return value
  }
  return Object.assign(get, { made: () => loaded?.value })
}
