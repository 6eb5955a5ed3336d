/**
 * A value that is made with its first use.
 */

/** Calls `load` once. A promise that rejects is forgotten, so that the next call tries again. */
export function lazy<T>(load: () => T): () => T {
  let loaded: { readonly value: T } | undefined
  return () => {
    if (loaded !== undefined) return loaded.value
    const value = load()
    loaded = { value }
    if (value instanceof Promise)
      value.catch(() => {
        loaded = undefined
      })
    return value
  }
}
