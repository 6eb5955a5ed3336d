/**
 * Shows the failures of the user's requests above the message field.
 */
import { ApiError } from '../api.js'

/**
 * @param {HTMLElement} element
 * @returns {(act: () => Promise<void>, failure: string) => Promise<boolean>} resolves with whether it succeeded
 */
export function createAttempts(element) {
  return async (act, failure) => {
    try {
      await act()
      element.hidden = true
      return true
    } catch (error) {
      const reason = error instanceof ApiError ? `${error.message} ${error.hint}` : 'The gateway cannot be reached.'
      element.textContent = `${failure} ${reason}`
      element.hidden = false
      return false
    }
  }
}
