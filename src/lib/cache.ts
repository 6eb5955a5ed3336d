/**
 * Values that are made once: one that is made with its first use, a map that drops the least recently used entry, so that memory
 * stays bounded, and results that are remembered in such a map.
 */
export interface LruCache<Value> {
  get(key: string): Value | undefined
  has(key: string): boolean
  set(key: string, value: Value): void
  delete(key: string): void
}

export function createLruCache<Value>(maxEntries: number): LruCache<Value> {
  const entries = new Map<string, Value>()
  const put = (key: string, value: Value) => {
    entries.delete(key)
    entries.set(key, value)
    if (entries.size <= maxEntries) return
    const [oldest] = entries.keys()
    if (oldest !== undefined) entries.delete(oldest)
  }
  return {
    get(key) {
      const value = entries.get(key)
      if (value !== undefined) put(key, value)
      return value
    },
    has: (key) => entries.has(key),
    set: put,
    delete: (key) => void entries.delete(key),
  }
}

/** The result for `key`, which is computed once for as long as the same values stand behind it. A promise that rejects is forgotten. */
type Memo<Result> = (behind: readonly unknown[], key: string, compute: () => Result) => Result

export function createMemo<Result>(maxEntries: number): Memo<Result> {
  let known: readonly unknown[] = []
  let results = createLruCache<{ readonly result: Result }>(maxEntries)
  return (behind, key, compute) => {
    if (behind.some((value, index) => value !== known[index])) {
      known = behind
      results = createLruCache(maxEntries)
    }
    const entry = results.get(key)
    if (entry !== undefined) return entry.result
    const result = compute()
    results.set(key, { result })
    if (result instanceof Promise) result.catch(() => results.delete(key))
    return result
  }
}

interface Lazy<T> {
  (): T
  /** What was made; undefined before the first use. */
  made(): T | undefined
}

/** A function whose code is loaded with its first call. */
export function lazyFunction<Args extends readonly unknown[], Result>(
  load: () => Promise<(...args: Args) => Result | Promise<Result>>,
): (...args: Args) => Promise<Result> {
  const loaded = lazy(load)
  return async (...args) => (await loaded())(...args)
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
