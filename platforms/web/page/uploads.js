/**
 * Sends files to the gateway in pieces, before and while the message that names them is sent. A file stays in the browser until
 * its message is on disk, so that an upload can begin again.
 */
import { ApiError } from './api.js'

/**
 * A file of a message that is not in the history yet.
 *
 * @typedef {{ id: string, name: string, type: string, bytes: number }} LocalFile
 */
/** @typedef {import('../protocol.ts').WireUpload} WireUpload */

/** A gateway that takes no bytes of a piece has another idea of the file. */
const maxStalled = 5

/**
 * @param {object} options
 * @param {Pick<import('./api.js').Api, 'uploadLimits' | 'beginUpload' | 'sendPiece' | 'removeUpload'>} options.api
 * @param {import('./blobs.js').Blobs} options.blobs
 * @param {(id: string, sent: number) => void} options.onProgress `sent`: the share, 0 to 1
 */
export function createUploads({ api, blobs, onProgress }) {
  /** @type {Map<string, { done: Promise<WireUpload>, stop: AbortController }>} */
  const running = new Map()
  /** @type {Promise<import('../protocol.ts').WireUploadLimits> | undefined} */
  let limits

  return {
    /** Asked once, and again after a failure. */
    limits: readLimits,
    /** @param {LocalFile} file @param {Blob} blob */
    async add(file, blob) {
      await blobs.put(file.id, blob)
    },
    /** Resolves when the gateway has the file. Rejects as the functions of the API. @param {LocalFile} file */
    ensure(file) {
      const known = running.get(file.id)
      if (known !== undefined) return known.done
      const stop = new AbortController()
      const done = upload(file, stop.signal)
      running.set(file.id, { done, stop })
      // A failed upload is tried again.
      done.catch(() => running.delete(file.id))
      return done
    },
    /** The gateway has lost the file. @param {LocalFile} file */
    again(file) {
      running.delete(file.id)
    },
    /** The person does not want to send the file. @param {string} id */
    discard(id) {
      running.get(id)?.stop.abort()
      running.delete(id)
      void blobs.remove(id)
      // An upload that stays is removed by the gateway.
      api.removeUpload(id).catch(() => undefined)
    },
    /** The message is on disk. @param {string} id */
    finish(id) {
      running.delete(id)
      void blobs.release(id)
    },
    /** The content of a file that is not sent yet. @param {string} id */
    blob: (id) => blobs.get(id),
  }

  /** @param {LocalFile} file @param {AbortSignal} signal */
  async function upload(file, signal) {
    const { piece_bytes: pieceBytes } = await readLimits()
    const blob = await blobs.get(file.id)
    if (blob === undefined)
      throw new ApiError(410, `This browser does not have the file ${file.name} any more.`, 'Attach it again.')
    let state = await api.beginUpload({ ...file, bytes: blob.size })
    for (let stalled = 0; state.received < blob.size; ) {
      signal.throwIfAborted()
      const piece = blob.slice(state.received, state.received + pieceBytes)
      const next = await api.sendPiece(file.id, state.received, piece, signal)
      stalled = next.received > state.received ? 0 : stalled + 1
      if (stalled === maxStalled)
        throw new ApiError(409, `The file ${file.name} could not be sent.`, 'Attach it again.')
      state = next
      onProgress(file.id, state.received / blob.size)
    }
    onProgress(file.id, 1)
    return state
  }

  function readLimits() {
    limits ??= api.uploadLimits().catch((error) => {
      limits = undefined
      throw error
    })
    return limits
  }
}
