/**
 * The message field and the files of the message. Enter sends the message; on touch screens it starts a new line.
 */
import { byId } from '../dom.js'
import { createHints } from './hints.js'

/** @typedef {(text: string, files: readonly import('../uploads.js').LocalFile[]) => Promise<boolean>} Send resolves with whether it is sent */

/**
 * @param {object} options
 * @param {HTMLFormElement} options.form
 * @param {HTMLTextAreaElement} options.field
 * @param {HTMLButtonElement} options.sendButton
 * @param {HTMLElement} options.hintList
 * @param {import('../storage.js').Store} options.storage
 * @param {string} options.storageKey where an unfinished message is kept
 * @param {boolean} options.touch
 * @param {ReturnType<typeof import('./attach.js').createAttach>} options.attach
 * @param {(text: string, files: readonly import('../uploads.js').LocalFile[]) => void} options.onSend
 * @param {Parameters<typeof createHints>[0]['load']} options.loadCommands
 */
export function createComposer({
  form,
  field,
  sendButton,
  hintList,
  storage,
  storageKey,
  touch,
  attach,
  onSend,
  loadCommands,
}) {
  const edited = byId('editing', HTMLElement)
  /** The earlier message that is changed: how it is sent, and what stood in the field before. */
  /** @type {{ send: Send, before: string } | undefined} */
  let edit
  const hints = createHints({ list: hintList, field, onChoose: choose, load: loadCommands })

  field.value = storage.get(storageKey) ?? ''
  if (!touch) field.setAttribute('enterkeyhint', 'send')
  fit()

  field.addEventListener('input', () => {
    keep()
    fit()
    hints.update()
  })
  field.addEventListener('blur', () => hints.close())
  field.addEventListener('keydown', (event) => {
    if (composing(event) || hints.handle(event)) return
    if (event.key === 'Escape' && edit !== undefined) {
      event.preventDefault()
      return endEdit()
    }
    if (event.key !== 'Enter' || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || touch) return
    event.preventDefault()
    submit()
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    submit()
  })
  window.addEventListener('resize', fit)
  attach.onChange(fit)
  byId('editing-end', HTMLButtonElement).addEventListener('click', endEdit)

  return {
    focus: () => field.focus(),
    /** Everything is there. */
    enable() {
      field.disabled = false
      fit()
      if (!touch) field.focus()
    },
    /** Puts a text into the field, for the person to send or change. @param {string} text */
    fill(text) {
      field.value = text
      keep()
      fit()
      field.focus()
    },
    /** Puts words of the conversation before what the person writes. @param {string} text */
    quote(text) {
      const quoted = text.trim().replace(/^/gm, '> ')
      field.value = [quoted, field.value].join('\n\n')
      keep()
      fit()
      field.focus()
      field.setSelectionRange(field.value.length, field.value.length)
    },
    /** The field has an earlier message, until it is sent or given up. @param {string} text @param {Send} send */
    edit(text, send) {
      edit = { send, before: edit?.before ?? field.value }
      edited.hidden = false
      field.value = text
      fit()
      field.focus()
    },
  }

  function endEdit() {
    if (edit === undefined) return
    field.value = edit.before
    edit = undefined
    edited.hidden = true
    attach.take()
    keep()
    fit()
    field.focus()
  }

  /** What is in the field stays until it is sent. @param {Send} send */
  async function submitEdit(send) {
    sendButton.disabled = true
    const isSent = await send(field.value.trim(), attach.files())
    sendButton.disabled = false
    if (isSent) endEdit()
  }

  function submit() {
    const text = field.value.trim()
    if (isEmpty()) return
    if (edit !== undefined) return void submitEdit(edit.send)
    const files = attach.take()
    field.value = ''
    keep()
    fit()
    hints.close()
    onSend(text, files)
  }

  /** @param {string} command */
  function choose(command) {
    field.value = command
    submit()
  }

  /** A file that is being prepared belongs to the message. */
  function isEmpty() {
    return attach.isPreparing() || (field.value.trim() === '' && attach.count() === 0)
  }

  function keep() {
    sendButton.disabled = isEmpty()
    // An earlier message is no draft.
    if (edit !== undefined) return
    if (field.value === '') storage.remove(storageKey)
    else storage.set(storageKey, field.value)
  }

  function fit() {
    sendButton.disabled = isEmpty()
    field.style.height = 'auto'
    field.style.height = `${field.scrollHeight}px`
  }
}

/** The key belongs to an input method that builds a character; Safari says so only with the old code. @param {KeyboardEvent} event */
function composing(event) {
  return event.isComposing || event.keyCode === 229
}
