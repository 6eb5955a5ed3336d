/**
 * Counts the characters kept of one answer, so that a model that never ends cannot fill the memory.
 */
import { ModelError } from './provider.ts'

/** Notes that so many characters more are kept. Throws `ModelError` (`bad-response`) when they are too many. */
export type CountChars = (chars: number) => void

export function createResponseSizeLimit(maxChars: number): CountChars {
  let kept = 0
  return (chars) => {
    kept += chars
    if (kept > maxChars) {
      throw new ModelError('bad-response', `The model answered more than ${maxChars} characters and did not stop.`)
    }
  }
}
