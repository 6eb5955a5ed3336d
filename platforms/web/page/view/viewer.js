/**
 * Shows the pictures of a message in full size. The arrow keys and the buttons turn to the next one, Escape closes.
 */
import { byId, setText } from '../dom.js'

/** @typedef {import('../items.js').ShownFile} ShownFile */
/** @typedef {{ files: import('../files.js').Files, pictures: readonly ShownFile[], at: number }} Album */

/** @type {(Album & { index: number }) | undefined} */
let shown

/** @param {Album & { first: number, from: HTMLElement }} options `from`: gets the focus back */
export function showPictures({ files, pictures, first, at, from }) {
  const dialog = byId('viewer', HTMLDialogElement)
  const isNew = dialog.dataset['ready'] === undefined
  if (isNew) prepare(dialog)
  shown = { files, pictures, at, index: first }
  dialog.addEventListener('close', () => from.focus(), { once: true })
  dialog.showModal()
  draw()
}

/** @param {HTMLDialogElement} dialog */
function prepare(dialog) {
  dialog.dataset['ready'] = ''
  dialog.addEventListener('keydown', ({ key }) => {
    if (key === 'ArrowLeft') turn(-1)
    if (key === 'ArrowRight') turn(1)
  })
  // A click beside the picture closes, as people expect.
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog || (target instanceof HTMLElement && target.id === 'viewer-stage')) dialog.close()
  })
  byId('viewer-close', HTMLButtonElement).addEventListener('click', () => dialog.close())
  byId('viewer-before', HTMLButtonElement).addEventListener('click', () => turn(-1))
  byId('viewer-after', HTMLButtonElement).addEventListener('click', () => turn(1))
  byId('viewer-save', HTMLButtonElement).addEventListener('click', () => {
    const file = shown?.pictures[shown.index]
    if (shown !== undefined && file !== undefined) void shown.files.save(file, shown.at).catch(() => undefined)
  })
}

/** @param {number} step */
function turn(step) {
  if (shown === undefined || shown.pictures[shown.index + step] === undefined) return
  shown.index += step
  draw()
}

function draw() {
  const album = shown
  const file = album?.pictures[album.index]
  if (album === undefined || file === undefined) return
  const { pictures, index } = album
  const image = byId('viewer-image', HTMLImageElement)
  const place = pictures.length === 1 ? '' : `${index + 1} of ${pictures.length}`
  setText(byId('viewer-title', HTMLElement), file.name)
  setText(byId('viewer-place', HTMLElement), place)
  byId('viewer-before', HTMLButtonElement).hidden = pictures.length === 1
  byId('viewer-after', HTMLButtonElement).hidden = pictures.length === 1
  byId('viewer-before', HTMLButtonElement).disabled = index === 0
  byId('viewer-after', HTMLButtonElement).disabled = index === pictures.length - 1
  image.alt = file.name
  void album.files
    .address(file, album.at)
    .then((found) => {
      if (shown === album && album.index === index && found !== undefined) image.src = found
    })
    .catch(() => undefined)
}
