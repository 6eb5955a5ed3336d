/**
 * Finds the lines of a text that match a regular expression, within a limit of time.
 *
 * The expression comes from the model: one that backtracks for ever would stop the whole gateway. A `vm` context can be
 * interrupted in the middle of a match; nothing else in one thread can.
 */

import { isNativeError } from 'node:util/types'
import { createContext, Script } from 'node:vm'

const timeoutMs = 500

export class RegexTimeoutError extends Error {}

const script = new Script(`
  text.split('\\n').flatMap((line, index) => (expression.test(line) ? [index + 1] : [])).join(' ')
`)

/** The finder returns line numbers from 1 and throws `RegexTooSlow`. Throws SyntaxError when the pattern is none. */
export function createLineFinder(pattern: string): (text: string) => number[] {
  const context = createContext({ expression: new RegExp(pattern, 'u'), text: '' })
  return (text) => {
    context['text'] = text
    try {
      const numbers = String(script.runInContext(context, { timeout: timeoutMs }))
      return numbers === '' ? [] : numbers.split(' ').map(Number)
    } catch (error) {
      if (!isTimeout(error)) throw error
      throw new RegexTimeoutError('The pattern takes too long on these files; use a simpler one.', { cause: error })
    } finally {
      context['text'] = ''
    }
  }
}

/** The error belongs to the other context: it is not an instance of the Error known here. */
function isTimeout(error: unknown): boolean {
  return isNativeError(error) && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
