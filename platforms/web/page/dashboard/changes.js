/**
 * Tells views when to read again: the gateway says over one stream what has changed. Nothing is asked while nothing changes.
 */
import { createConnection } from '../connection.js'

/**
 * @param {object} options
 * @param {import('../api.js').Api} options.api
 * @param {(state: import('../connection.js').ConnectionState, reason: string) => void} options.onState
 * @param {() => void} options.onRefused the token is wrong
 */
export function createChanges({ api, onState, onRefused }) {
  /** @type {Set<{ topics: readonly string[], listener: () => void }>} */
  const watchers = new Set()
  let isFirst = true
  const connection = createConnection({
    stream: (_after, signal) => api.changes(signal),
    after: () => undefined,
    onBegin: () => undefined,
    /** @param {{ type: 'ready' | 'ping' } | { type: 'changed', topics: string[] }} event */
    onEvent(event) {
      if (event.type === 'changed') tell(event.topics)
      if (event.type !== 'ready') return
      // What has changed while there was no stream is not known.
      if (!isFirst) tell(undefined)
      isFirst = false
    },
    onState(state, reason) {
      if (state === 'refused') onRefused()
      else onState(state, reason)
    },
  })

  return {
    start: connection.start,
    stop: connection.stop,
    /** @param {readonly string[]} topics @param {() => void} listener @param {AbortSignal} signal */
    watch(topics, listener, signal) {
      const watcher = { topics, listener }
      watchers.add(watcher)
      signal.addEventListener('abort', () => watchers.delete(watcher))
    },
  }

  /** @param {readonly string[] | undefined} changed undefined: everything may have */
  function tell(changed) {
    for (const { topics, listener } of watchers)
      if (changed === undefined || topics.some((topic) => changed.includes(topic))) listener()
  }
}
