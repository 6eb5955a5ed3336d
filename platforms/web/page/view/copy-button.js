/**
 * Copies text. The clipboard is available only on secure origins; otherwise the text is selected for manual copying.
 */

/**
 * @param {HTMLButtonElement} button says what happened
 * @param {string} text
 * @param {Node} source selected where the clipboard is not available
 */
export async function copyText(button, text, source) {
  const copied = await toClipboard(text)
  if (!copied) getSelection()?.selectAllChildren(source)
  const label = button.querySelector('span')
  if (label === null) return
  label.textContent = copied ? 'Copied' : 'Selected'
  setTimeout(() => {
    label.textContent = 'Copy'
  }, 1_600)
}

/**
 * Handles the copy buttons of code blocks in a part of the page by event delegation, because code may still be growing.
 *
 * @param {HTMLElement} root
 */
export function copyOnClick(root) {
  root.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('button[data-copy]') : null
    const code = button?.closest('.code')?.querySelector('code')
    if (button instanceof HTMLButtonElement && code instanceof HTMLElement) {
      void copyText(button, code.textContent, code)
    }
  })
}

/** Whether it is there now. @param {string} text */
export async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
