/**
 * Tells views when to read again.
 */

/**
 * @param {object} options
 * @param {import('../api.js').Api} options.api
 * @param {(state: import('../connection.js').ConnectionState, reason: string) => void} options.onState
 * @param {() => void} options.onRefused the token is wrong
 */
export function createChanges({ onState }) {
  /** @type {Set<() => void>} */
  const listeners = new Set()
  const tell = () => {
    if (document.hidden) return
    for (const listener of listeners) listener()
  }
  return {
    start() {
      document.addEventListener('visibilitychange', tell)
      onState('open', '')
    },
    stop: () => document.removeEventListener('visibilitychange', tell),
    /** @param {readonly string[]} topics @param {() => void} listener @param {AbortSignal} signal */
    watch(topics, listener, signal) {
      if (topics.length === 0) return
      listeners.add(listener)
      signal.addEventListener('abort', () => listeners.delete(listener))
    },
  }
}
