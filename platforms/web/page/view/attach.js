/**
 * Takes files for the next message: from the button, from the clipboard, and dropped on the page. What shows them is loaded with
 * the first one.
 */
import { byId } from '../dom.js'

/**
 * @param {object} options
 * @param {ReturnType<typeof import('../uploads.js').createUploads>} options.uploads
 * @param {import('../storage.js').Store} options.storage
 * @param {string} options.storageKey
 * @param {() => string} options.newId
 */
export function createAttach({ uploads, storage, storageKey, newId }) {
  const chooser = byId('choose', HTMLInputElement)
  const target = byId('drop', HTMLElement)
  /** @type {ReturnType<typeof import('./tray.js').createTray> | undefined} */
  let tray
  let loading = 0
  /** @type {(() => void) | undefined} */
  let onChange

  byId('attach', HTMLButtonElement).addEventListener('click', () => chooser.click())
  chooser.addEventListener('change', () => {
    void add([...(chooser.files ?? [])])
    // The same file can be chosen again.
    chooser.value = ''
  })
  byId('message', HTMLTextAreaElement).addEventListener('paste', (event) => {
    const { files } = event.clipboardData ?? { files: [] }
    // A table of an office program comes as text and as a picture; the text is meant.
    if (files.length === 0 || event.clipboardData?.getData('text/plain') !== '') return
    event.preventDefault()
    void add([...files])
  })
  listenToDrops()
  if (storage.get(storageKey) !== null) void load().then((loaded) => loaded.restore())

  return {
    count: () => tray?.files().length ?? 0,
    files: () => tray?.files() ?? [],
    add,
    isPreparing: () => loading > 0 || tray?.isPreparing() === true,
    /** The files, which then belong to a message. */
    take: () => tray?.take() ?? [],
    /** @param {() => void} listener */
    onChange(listener) {
      onChange = listener
    },
    /** @param {string} id @param {number} sent */
    progress: (id, sent) => tray?.progress(id, sent),
    /** The gateway can be reached again. */
    reachable: () => tray?.uploadAll(),
  }

  /** @param {readonly File[]} files */
  async function add(files) {
    if (files.length === 0) return
    loading += 1
    onChange?.()
    try {
      await (await load()).add(files)
    } finally {
      loading -= 1
      onChange?.()
    }
  }

  async function load() {
    const { createTray } = await import('./tray.js')
    tray ??= createTray({
      list: byId('tray', HTMLElement),
      status: byId('tray-status', HTMLElement),
      uploads,
      storage,
      storageKey,
      newId,
      onChange: () => onChange?.(),
    })
    return tray
  }

  function listenToDrops() {
    document.addEventListener('dragover', (event) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      target.hidden = false
    })
    document.addEventListener('dragleave', (event) => {
      if (event.relatedTarget === null) target.hidden = true
    })
    document.addEventListener('drop', (event) => {
      target.hidden = true
      if (!hasFiles(event)) return
      // Without this the browser would leave the page and open the file.
      event.preventDefault()
      void add([...(event.dataTransfer?.files ?? [])])
    })
  }
}

/** @param {DragEvent} event */
function hasFiles({ dataTransfer }) {
  return dataTransfer?.types.includes('Files') === true
}
