/**
 * The message field and the files of the message. Enter sends the message; on touch screens it starts a new line.
 */
import { createHints } from './hints.js'

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

  return {
    focus: () => field.focus(),
    /** Puts a text into the field, for the person to send or change. @param {string} text */
    fill(text) {
      field.value = text
      keep()
      fit()
      field.focus()
    },
  }

  function submit() {
    const text = field.value.trim()
    if (isEmpty()) return
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
