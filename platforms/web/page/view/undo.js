/**
 * A removal that can be taken back for some seconds. It happens afterwards, or when the page is closed.
 */
import { byId } from '../dom.js'
import { createAttempts } from './attempts.js'

const undoMs = 7_000

/** Takes back the removal of the conversation that is open. @type {(() => void) | undefined} */
let keepOpen

/** A person writes in the open conversation, so that it is not removed. */
export function keepOpenConversation() {
  keepOpen?.()
}

/** Does at once what was postponed. @type {(() => void) | undefined} */
let finish

/**
 * @param {object} options
 * @param {string} options.text what is removed
 * @param {boolean} options.isOpen whether the page shows it
 * @param {() => void} options.undo
 * @param {() => Promise<void>} options.act
 * @param {() => void} options.failed
 */
export function offerUndo({ text, isOpen, undo, act, failed }) {
  finish?.()
  const toast = byId('undo', HTMLElement)
  const button = byId('undo-button', HTMLButtonElement)
  const attempt = createAttempts(byId('conversations-trouble', HTMLElement))
  byId('undo-text', HTMLElement).textContent = text
  toast.hidden = false
  const timer = setTimeout(removeNow, undoMs)
  finish = removeNow
  window.addEventListener('pagehide', removeNow)
  button.onclick = takeBack
  if (isOpen) keepOpen = takeBack

  function takeBack() {
    end()
    undo()
  }

  function removeNow() {
    end()
    void attempt(act, 'It could not be deleted.').then((done) => {
      if (!done) failed()
    })
  }

  function end() {
    clearTimeout(timer)
    window.removeEventListener('pagehide', removeNow)
    finish = undefined
    keepOpen = undefined
    toast.hidden = true
  }
}
