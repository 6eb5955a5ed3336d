/**
 * The storage of the page. Without storage (private windows, blocked storage) values are kept in memory.
 */

/**
 * @typedef {object} Store
 * @property {(key: string) => string | null} get
 * @property {(key: string, value: string) => void} set
 * @property {(key: string) => void} remove
 */

/**
 * @param {() => Storage} open may throw, as `window.localStorage` does when it is blocked
 * @returns {Store}
 */
export function createStorage(open) {
  /** @type {Map<string, string>} */
  const memory = new Map()
  /** @type {Storage | null} */
  let storage = null
  try {
    storage = open()
  } catch {
    storage = null
  }
  const prefix = 'hermes.'

  return {
    get: (key) => memory.get(key) ?? storage?.getItem(prefix + key) ?? null,
    set(key, value) {
      memory.set(key, value)
      try {
        storage?.setItem(prefix + key, value)
      } catch {
        // Full or forbidden. The value stays in memory.
        storage?.removeItem(prefix + key)
      }
    },
    remove(key) {
      memory.delete(key)
      storage?.removeItem(prefix + key)
    },
  }
}
