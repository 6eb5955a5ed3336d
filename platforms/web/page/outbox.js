/**
 * Sends what the person wrote, in order, and keeps it in the browser until the gateway has it on disk.
 *
 * Every message has an id of its own, so that sending it again is harmless: after a lost answer, after a reload, from
 * the button.
 */
import { ApiError } from './api.js'

/** @typedef {{ id: string, text: string, at: number }} Unsent */

/** What a page finds from an earlier visit is sent by itself only if the person may still expect it. */
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
  /** Those that wait for the person: the gateway refused them, or they are old. */
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
    /** The history shows this message: the gateway has it. */
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
   * True: go on with the next. False: the gateway cannot be reached now.
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
    // The stream may not have noticed yet that the gateway is gone; then nobody would call again.
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
