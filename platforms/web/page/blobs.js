/**
 * Keeps the files of messages that are not sent yet in the browser, so that a reload loses none. Where the browser stores nothing
 * (some private windows), they are kept in memory.
 */

/** Files of a message that was forgotten on a closed page are removed after this time. */
const keptMs = 7 * 24 * 60 * 60_000
const storeName = 'files'

/**
 * @typedef {object} Blobs
 * @property {(id: string, blob: Blob) => Promise<void>} put
 * @property {(id: string) => Promise<Blob | undefined>} get
 * @property {(id: string) => Promise<void>} release the gateway has the file; the open page still shows it
 * @property {(id: string) => Promise<void>} remove
 */

/** @param {{ now: () => number, open?: () => IDBOpenDBRequest }} options @returns {Blobs} */
export function createBlobs({ now, open = () => indexedDB.open('hermes', 1) }) {
  /** @type {Map<string, Blob>} */
  const memory = new Map()
  /** @type {Promise<IDBDatabase | undefined> | undefined} */
  let opening

  return {
    async put(id, blob) {
      memory.set(id, blob)
      await change((files) => files.put({ id, blob, at: now() }))
    },
    async get(id) {
      const known = memory.get(id)
      if (known !== undefined) return known
      const found = await change((files) => files.get(id))
      return typeof found === 'object' && found !== null && 'blob' in found && found.blob instanceof Blob
        ? found.blob
        : undefined
    },
    async release(id) {
      await change((files) => files.delete(id))
    },
    async remove(id) {
      memory.delete(id)
      await change((files) => files.delete(id))
    },
  }

  /**
   * The result of a request; `undefined` when nothing can be stored.
   *
   * @param {(files: IDBObjectStore) => IDBRequest} make
   * @returns {Promise<unknown>}
   */
  async function change(make) {
    opening ??= openDatabase()
    const database = await opening
    if (database === undefined) return undefined
    try {
      return await resultOf(make(database.transaction(storeName, 'readwrite').objectStore(storeName)))
    } catch {
      // Full or closed by the browser. The file stays in memory.
      return undefined
    }
  }

  async function openDatabase() {
    try {
      const request = open()
      request.addEventListener('upgradeneeded', () => request.result.createObjectStore(storeName, { keyPath: 'id' }))
      const database = await resultOf(request)
      removeOld(database)
      return database
    } catch {
      return undefined
    }
  }

  /** @param {IDBDatabase} database */
  function removeOld(database) {
    const request = database.transaction(storeName, 'readwrite').objectStore(storeName).openCursor()
    request.addEventListener('success', () => {
      const cursor = request.result
      if (cursor === null) return
      if (cursor.value.at < now() - keptMs) cursor.delete()
      cursor.continue()
    })
  }
}

/**
 * @template Result
 * @param {IDBRequest<Result>} request
 * @returns {Promise<Result>}
 */
function resultOf(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error))
  })
}
