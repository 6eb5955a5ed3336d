/**
 * The files that the next message will have: chosen, pasted or dropped, shown above the message field until they are sent.
 */
import { ApiError } from '../api.js'
import { h, setText } from '../dom.js'
import { sizeOf } from '../files.js'
import { icon } from '../icons.js'
import { shrink } from '../shrink.js'

/** @typedef {import('../uploads.js').LocalFile} LocalFile */
/** @typedef {{ node: HTMLLIElement, bar: HTMLProgressElement, address: string }} Tile */

/** Until the gateway has told its limits. */
const usualLimits = { max_bytes: 20_971_520, max_files: 8 }

/**
 * @param {object} options
 * @param {HTMLElement} options.list
 * @param {HTMLElement} options.status read out by assistive software
 * @param {ReturnType<typeof import('../uploads.js').createUploads>} options.uploads
 * @param {import('../storage.js').Store} options.storage
 * @param {string} options.storageKey where the names of waiting files are kept
 * @param {() => string} options.newId
 * @param {() => void} options.onChange the number of files, or one of them, has changed
 */
export function createTray({ list, status, uploads, storage, storageKey, newId, onChange }) {
  /** @type {LocalFile[]} */
  let files = []
  /** @type {Map<string, Tile>} */
  const tiles = new Map()
  let preparing = 0

  return {
    files: () => files,
    isPreparing: () => preparing > 0,
    add,
    restore,
    /** @param {string} id @param {number} sent */
    progress(id, sent) {
      const tile = tiles.get(id)
      if (tile === undefined) return
      tile.bar.value = sent
      tile.bar.hidden = sent === 1
    },
    /** Files whose upload has failed for lack of a connection. */
    uploadAll() {
      for (const file of files) begin(file)
    },
    /** The files, which the tray does not show any more. */
    take() {
      const taken = files
      files = []
      for (const { address } of tiles.values()) if (address !== '') URL.revokeObjectURL(address)
      tiles.clear()
      list.replaceChildren()
      setText(status, '')
      keep()
      return taken
    },
  }

  /** @param {readonly File[]} chosen */
  async function add(chosen) {
    /** @type {string[]} */
    const said = []
    preparing += 1
    onChange()
    const limits = await uploads.limits().catch(() => usualLimits)
    for (const original of chosen) {
      if (files.length >= limits.max_files) {
        said.push(`${original.name}: a message has at most ${limits.max_files} files.`)
        continue
      }
      const { blob, name, type } = await shrink(original)
      if (blob.size === 0) said.push(`${name}: the file is empty, or a folder.`)
      else if (blob.size > limits.max_bytes)
        said.push(`${name} has ${sizeOf(blob.size)}; the limit is ${sizeOf(limits.max_bytes)}.`)
      else {
        const file = { id: newId(), name: name || 'picture.png', type, bytes: blob.size }
        await uploads.add(file, blob)
        show(file, blob)
        const smaller = blob === original ? '' : `, made smaller (${sizeOf(original.size)} → ${sizeOf(blob.size)})`
        said.push(`${file.name} is attached${smaller}.`)
      }
    }
    preparing -= 1
    keep()
    setText(status, said.join(' '))
    status.dataset['quiet'] = said.every((line) => line.endsWith('is attached.')) ? '' : 'no'
    onChange()
  }

  /** The files that were waiting when the page was left. */
  async function restore() {
    for (const file of parseFiles(storage.get(storageKey))) {
      const blob = await uploads.blob(file.id)
      if (blob === undefined) continue
      show(file, blob)
    }
    keep()
    onChange()
  }

  /** @param {LocalFile} file */
  function begin(file) {
    uploads.ensure(file).then(
      ({ file: found }) => {
        if (found?.problem !== undefined) note(file, `Hermes gets this as a file, not as a picture: ${found.problem}.`)
      },
      (error) => {
        // Without a connection it is tried again; what the gateway refuses is not.
        if (error instanceof ApiError && !error.passing && !error.unauthorised)
          note(file, `${error.message} ${error.hint}`.trim())
      },
    )
  }

  /** @param {LocalFile} file @param {string} problem */
  function note(file, problem) {
    const tile = tiles.get(file.id)
    if (tile === undefined) return
    tile.node.dataset['state'] = 'problem'
    tile.node.title = problem
    status.dataset['quiet'] = 'no'
    setText(status, `${file.name}: ${problem}`)
  }

  /** @param {string} id */
  function remove(id) {
    const at = files.findIndex((file) => file.id === id)
    const [file] = files.slice(at, at + 1)
    const tile = tiles.get(id)
    if (file === undefined || tile === undefined) return
    const next = tile.node.nextElementSibling ?? tile.node.previousElementSibling
    files = files.toSpliced(at, 1)
    if (tile.address !== '') URL.revokeObjectURL(tile.address)
    tile.node.remove()
    tiles.delete(id)
    uploads.discard(id)
    keep()
    status.dataset['quiet'] = ''
    setText(status, `${file.name} is removed.`)
    onChange()
    const button = next?.querySelector('button')
    if (button instanceof HTMLElement) button.focus()
    else document.getElementById('message')?.focus()
  }

  /** @param {LocalFile} file @param {Blob} blob */
  function show(file, blob) {
    const tile = createTile(file, blob, () => remove(file.id))
    tiles.set(file.id, tile)
    list.append(tile.node)
    files = [...files, file]
    begin(file)
  }

  function keep() {
    list.hidden = files.length === 0
    if (files.length === 0) storage.remove(storageKey)
    else storage.set(storageKey, JSON.stringify(files))
  }
}

/** @param {LocalFile} file @param {Blob} blob @param {() => void} onRemove @returns {Tile} */
function createTile(file, blob, onRemove) {
  const isPicture = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/.test(file.type)
  const address = isPicture ? URL.createObjectURL(blob) : ''
  const bar = h('progress', { max: '1', value: '0', 'aria-label': `Upload of ${file.name}` })
  const removal = h('button', { class: 'remove', type: 'button', 'aria-label': `Remove ${file.name}` }, icon('cross'))
  const name = h('span', { class: 'file' }, icon('file'), h('span', {}, file.name), h('small', {}, sizeOf(file.bytes)))
  const picture = h('img', { src: address || undefined, alt: file.name, draggable: 'false' })
  const content = isPicture ? picture : name
  // The browser cannot show it.
  picture.addEventListener('error', () => picture.replaceWith(name))
  removal.addEventListener('click', onRemove)
  return { node: h('li', {}, content, bar, removal), bar, address }
}

/** @param {string | null} kept @returns {LocalFile[]} */
function parseFiles(kept) {
  try {
    const files = JSON.parse(kept ?? '[]')
    return Array.isArray(files)
      ? files.filter((file) => typeof file?.id === 'string' && typeof file?.name === 'string')
      : []
  } catch {
    return []
  }
}
