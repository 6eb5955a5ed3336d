/**
 * Sends messages in order, and keeps them in the browser until the gateway has stored them.
 *
 * Every message has an id, so that it can be sent again: after a lost response, after a reload, or by the user.
 */
import { ApiError } from './api.js'

/** @typedef {import('./uploads.js').LocalFile} LocalFile */
/** @typedef {{ id: string, text: string, at: number, files?: readonly LocalFile[] }} Unsent */

/** An older message from an earlier visit is not sent automatically. */
const expectedMs = 60 * 60_000

/**
 * @param {object} options
 * @param {import('./api.js').Api['send']} options.send
 * @param {Pick<ReturnType<typeof import('./uploads.js').createUploads>, 'ensure' | 'again' | 'discard' | 'finish'>} options.uploads
 * @param {Pick<ReturnType<typeof import('./store.js').createStore>, 'addOwn' | 'setSendState' | 'drop' | 'workingSince'>} options.store
 * @param {import('./storage.js').Store} options.storage
 * @param {string} options.storageKey
 * @param {() => number} options.now
 * @param {() => string} options.newId
 * @param {() => void} options.onUnauthorised
 */
export function createOutbox({ send, uploads, store, storage, storageKey, now, newId, onUnauthorised }) {
  /** @type {Unsent[]} */
  let unsent = read()
  /** Messages that only the user can send again: refused or old ones. */
  const held = new Set()
  let sending = false
  /** The message that is being sent. @type {Unsent | undefined} */
  let current
  let connected = false

  for (const { id, text, at, files = [] } of unsent) {
    const old = now() - at > expectedMs
    if (old) held.add(id)
    store.addOwn(id, text, at, old ? 'failed' : 'waiting', files)
    if (old) store.setSendState(id, 'failed', 'Not sent.')
  }

  return {
    /** @param {string} text @param {readonly LocalFile[]} [files] already known to the uploads */
    add(text, files = []) {
      const message = { id: newId(), text, at: now(), ...(files.length === 0 ? {} : { files }) }
      unsent = [...unsent, message]
      write()
      store.addOwn(message.id, text, message.at, 'sending', files)
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
      for (const file of filesOf(id)) uploads.discard(file.id)
      forget(id)
      store.drop(id)
    },
    /** The history contains this message. */
    confirm: finish,
    /**
     * Reports how much of a file of the message that is being sent was uploaded.
     *
     * @param {string} fileId
     * @param {number} sent the share, 0 to 1
     */
    progress(fileId, sent) {
      const file = current?.files?.find(({ id }) => id === fileId)
      if (current === undefined || file === undefined || sent === 1) return
      store.setSendState(current.id, 'sending', `Sending ${file.name}… ${Math.floor(sent * 100)} %`)
    },
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
      current = next
      if (!(await attempt(next))) break
    }
    current = undefined
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
  async function attempt({ id, text, files = [] }) {
    store.setSendState(id, 'sending')
    try {
      for (const file of files) await uploads.ensure(file)
      await sendWithFiles(id, text, files)
      finish(id)
      store.setSendState(id, store.workingSince() === null ? 'sent' : 'queued')
      return true
    } catch (error) {
      return failed(id, error)
    }
  }

  /**
   * An upload that has waited too long is gone; the file is still here.
   *
   * @param {string} id
   * @param {string} text
   * @param {readonly LocalFile[]} files
   */
  async function sendWithFiles(id, text, files) {
    const ids = files.map((file) => file.id)
    try {
      await send(id, text, ids)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410)) throw error
      for (const file of files) {
        uploads.again(file)
        await uploads.ensure(file)
      }
      await send(id, text, ids)
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

  /** The message is on disk. @param {string} id */
  function finish(id) {
    for (const file of filesOf(id)) uploads.finish(file.id)
    forget(id)
  }

  /** @param {string} id */
  function filesOf(id) {
    return unsent.find((message) => message.id === id)?.files ?? []
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
