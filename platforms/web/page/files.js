/**
 * The content of files in the conversation as addresses for the browser. A file is fetched with the token, which an address of the
 * gateway could not contain.
 */

/** @typedef {import('./items.js').ShownFile} ShownFile */

/** The least recently shown ones are fetched again. */
const maxKept = 60
/** A file of a message that is younger may still be on its way. */
const newMs = 60_000

/**
 * @typedef {object} Files
 * @property {(file: ShownFile, at: number) => Promise<string | undefined>} address
 *   `undefined` when the file is nowhere any more. Rejects as the API. `at`: when the message was sent
 * @property {(file: ShownFile, at: number) => Promise<Blob | undefined>} content
 * @property {(file: ShownFile, at: number) => Promise<void>} save lets the browser save the file
 */

/**
 * @param {object} options
 * @param {import('./api.js').Api['file']} options.fetchFile
 * @param {(id: string) => Promise<Blob | undefined>} options.localFile
 * @param {() => number} options.now
 * @returns {Files}
 */
export function createFiles({ fetchFile, localFile, now }) {
  /** @type {Map<string, Promise<string | undefined>>} */
  const addresses = new Map()

  return {
    address,
    content,
    async save(file, at) {
      const found = await address(file, at)
      if (found === undefined) return
      const link = document.createElement('a')
      link.href = found
      link.download = file.name
      link.click()
    },
  }

  /** @type {Files['address']} */
  function address(file, at) {
    const key = file.local ?? file.path
    if (key === undefined) return Promise.resolve(undefined)
    const known = addresses.get(key) ?? load(file, at)
    addresses.delete(key)
    addresses.set(key, known)
    known.catch(() => addresses.delete(key))
    dropOldest()
    return known
  }

  /** @param {ShownFile} file @param {number} at */
  async function load(file, at) {
    const blob = await content(file, at)
    return blob === undefined ? undefined : URL.createObjectURL(blob)
  }

  /** @type {Files['content']} */
  async function content({ local, path }, at) {
    const own = local === undefined ? undefined : await localFile(local)
    if (own !== undefined || path === undefined) return own
    return await fetchFile(path, now() - at < newMs)
  }

  function dropOldest() {
    for (const [key, known] of addresses) {
      if (addresses.size <= maxKept) return
      addresses.delete(key)
      void known.then((found) => found !== undefined && URL.revokeObjectURL(found))
    }
  }
}

/** @param {number} bytes */
export function sizeOf(bytes) {
  if (bytes < 1_000) return `${bytes} bytes`
  const megabytes = bytes / 1_048_576
  return megabytes < 1 ? `${Math.ceil(bytes / 1_024)} kB` : `${megabytes.toFixed(1).replace('.0', '')} MB`
}
