/**
 * Sends messages in order, and keeps them in the browser until the gateway has stored them.
 *
 * Every message has an id, so that it can be sent again: after a lost response, after a reload, or by the user.
 */
import { ApiError } from './api.js'

/** @typedef {{ id: string, text: string, at: number }} Unsent */

/** An older message from an earlier visit is not sent automatically. */
const expectedMs = 60 * 60_000

/**
 * @param {object} options
 * @param {import('./api.js').Api['send']} options.send
 * @param {Pick<ReturnType<typeof import('./store.js').createStore>, 'addOwn' | 'setSendState' | 'drop' | 'workingSince'>} options.store
 * @param {import('./storage.js').Store} options.storage
 * @param {string} options.storageKey
 * @param {() => number} options.now
 * @param {() => string} options.newId
 * @param {() => void} options.onUnauthorised
 */
export function createOutbox({ send, store, storage, storageKey, now, newId, onUnauthorised }) {
  /** @type {Unsent[]} */
  let unsent = read()
  /** Messages that only the user can send again: refused or old ones. */
  const held = new Set()
  let sending = false
  let connected = false

  for (const { id, text, at } of unsent) {
    const old = now() - at > expectedMs
    if (old) held.add(id)
    store.addOwn(id, text, at, old ? 'failed' : 'waiting')
    if (old) store.setSendState(id, 'failed', 'Not sent.')
  }

  return {
    /** @param {string} text */
    add(text) {
      const message = { id: newId(), text, at: now() }
      unsent = [...unsent, message]
      write()
      store.addOwn(message.id, text, message.at, 'sending')
      void work()
    },
    /** @param {string} id */
    retry(id) {
      held.delete(id)
      store.setSendState(id, 'sending')
      void work()
    },
    /** @param {string} id */
    discard(id) {
      forget(id)
      store.drop(id)
    },
    /** The history contains this message. */
    confirm: forget,
    /** The gateway can be reached, or not. @param {boolean} reachable */
    reachable(reachable) {
      connected = reachable
      if (reachable) void work()
    },
  }

  async function work() {
    if (sending) return
    sending = true
    for (let next = first(); next !== undefined; next = first()) {
      if (!(await attempt(next))) break
    }
    sending = false
  }

  function first() {
    return unsent.find(({ id }) => !held.has(id))
  }

  /**
   * `true`: continue with the next message. `false`: the gateway cannot be reached.
   *
   * @param {Unsent} message
   */
  async function attempt({ id, text }) {
    store.setSendState(id, 'sending')
    try {
      await send(id, text)
      forget(id)
      store.setSendState(id, store.workingSince() === null ? 'sent' : 'queued')
      return true
    } catch (error) {
      return failed(id, error)
    }
  }

  /** @param {string} id @param {unknown} error */
  function failed(id, error) {
    if (error instanceof ApiError && error.unauthorised) {
      store.setSendState(id, 'waiting')
      onUnauthorised()
      return false
    }
    if (error instanceof ApiError && !error.passing) {
      held.add(id)
      store.setSendState(id, 'failed', `${error.message} ${error.hint}`.trim())
      return true
    }
    store.setSendState(id, 'waiting')
    // The stream may not have detected the outage yet, so it would not trigger a retry.
    if (connected) setTimeout(() => connected && void work(), 2_000)
    return false
  }

  /** @param {string} id */
  function forget(id) {
    held.delete(id)
    unsent = unsent.filter((message) => message.id !== id)
    write()
  }

  function write() {
    if (unsent.length === 0) storage.remove(storageKey)
    else storage.set(storageKey, JSON.stringify(unsent))
  }

  /** @returns {Unsent[]} */
  function read() {
    try {
      const kept = JSON.parse(storage.get(storageKey) ?? '[]')
      return Array.isArray(kept) ? kept.filter(isUnsent) : []
    } catch {
      return []
    }
  }
}

/** @param {unknown} value */
function isUnsent(value) {
  return (
    typeof value === 'object' &&
    value !== null &&
    'id' in value &&
    typeof value.id === 'string' &&
    'text' in value &&
    typeof value.text === 'string' &&
    'at' in value &&
    typeof value.at === 'number'
  )
}
