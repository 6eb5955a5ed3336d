/**
 * The screen for a visit without a valid token.
 */
import { byId } from '../dom.js'
import { readToken } from '../token.js'

/** @param {{ onToken: (token: string) => void }} actions */
export function createSignIn({ onToken }) {
  const root = byId('gate', HTMLElement)
  const field = byId('token', HTMLInputElement)
  const problem = byId('gate-problem', HTMLElement)

  byId('gate-form', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    const token = readToken(field.value)
    if (token !== null) {
      onToken(token)
      return
    }
    problem.textContent =
      field.value.trim() === '' ? 'Paste the address or the token first.' : 'This text contains no token.'
    field.focus()
  })
  field.addEventListener('input', () => {
    problem.textContent = ''
  })

  return {
    /** @param {string} why what was wrong; '' at the first visit */
    show(why) {
      root.hidden = false
      problem.textContent = why
      field.value = ''
      field.focus()
    },
  }
}
