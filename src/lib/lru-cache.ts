/**
 * A map with a maximum size that drops the least recently used entry, so that memory stays bounded.
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
