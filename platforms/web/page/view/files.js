/**
 * The files of a message: pictures and sound are shown, a video when it is pressed, others can be saved.
 */
import { h } from '../dom.js'
import { sizeOf } from '../files.js'
import { icon } from '../icons.js'

/** @typedef {import('../items.js').ShownFile} ShownFile */

/** A picture is fetched when it is this near to the visible part. */
const margin = '600px'

/**
 * @param {HTMLElement} place
 * @param {{ files: import('../files.js').Files }} options
 * @returns {{ update: (shown: readonly ShownFile[], at: number) => void }}
 */
export function createFilesView(place, { files }) {
  /** @type {readonly ShownFile[]} */
  let drawn = []
  place.hidden = true

  return {
    update(shown, at) {
      if (drawn === shown) return
      // The gateway has the files now, and the page shows them already.
      const isKnown = shown.length === drawn.length && shown.every(({ local }, index) => local === drawn[index]?.local)
      drawn = shown
      if (isKnown && shown.every(({ local }) => local !== undefined)) return
      place.hidden = shown.length === 0
      const pictures = shown.filter(({ isPicture }) => isPicture)
      place.replaceChildren(
        ...shown.map((file) => {
          if (file.isPicture) return picture(file, pictures, at)
          return file.otherwise === 'audio' ? player(file, 'audio', at) : chip(file, at)
        }),
      )
    },
  }

  /** @param {ShownFile} file @param {readonly ShownFile[]} all @param {number} at */
  function picture(file, all, at) {
    const image = h('img', { alt: file.name, decoding: 'async', draggable: 'false' })
    const button = h('button', { class: 'picture', type: 'button', 'data-state': 'loading' }, image)
    button.addEventListener('click', async () => {
      const { showPictures } = await import('./viewer.js')
      showPictures({ files, pictures: all, first: all.indexOf(file), at, from: button })
    })
    // It is no picture after all.
    image.addEventListener('error', () => button.replaceWith(chip(file, at)))
    image.addEventListener('load', () => {
      button.dataset['state'] = 'shown'
    })
    whenNear(button, async () => {
      const found = await files.address(file, at).catch(() => undefined)
      if (found === undefined) lose(button, file)
      else image.src = found
    })
    return button
  }

  /** @param {ShownFile} file @param {'audio' | 'video'} tag @param {number} at */
  function player(file, tag, at) {
    const media = h(tag, { controls: true, preload: 'metadata', 'aria-label': file.name })
    whenNear(media, async () => {
      const found = await files.address(file, at).catch(() => undefined)
      if (found === undefined) media.replaceWith(chip({ ...file, otherwise: 'document' }, at))
      else media.src = found
    })
    return media
  }

  /** @param {ShownFile} file @param {number} at */
  function chip(file, at) {
    const note = h('small', {}, file.bytes === undefined ? '' : sizeOf(file.bytes))
    const isHere = file.path !== undefined || file.local !== undefined
    const button = h('button', { class: 'file', type: 'button' }, icon('file'), h('span', {}, file.name), note)
    button.disabled = !isHere
    if (!isHere) note.textContent = 'not kept'
    button.addEventListener('click', () => {
      // A video is large, so it is fetched when a person wants to see it.
      if (file.otherwise === 'video') return button.replaceWith(player(file, 'video', at))
      files.save(file, at).catch(() => {
        note.textContent = 'not kept any more'
      })
    })
    return button
  }
}

/** The file was removed by the gateway. @param {HTMLButtonElement} button @param {ShownFile} file */
function lose(button, file) {
  button.dataset['state'] = 'lost'
  button.disabled = true
  button.replaceChildren(icon('file'), h('span', {}, `${file.name} is not kept any more`))
}

/** @param {HTMLElement} element @param {() => void} act */
function whenNear(element, act) {
  const watch = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      watch.disconnect()
      act()
    },
    { rootMargin: margin },
  )
  watch.observe(element)
}
