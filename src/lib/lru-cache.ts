/**
 * A map that remembers what was used last and forgets the rest, so that a gateway that runs for months stays as small as
 * it was.
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
    const [oldest] = entries.keys()
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
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
