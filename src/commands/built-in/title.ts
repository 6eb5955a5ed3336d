/**
 * Names that people give to conversations.
 */
import { toVisibleText } from '../../lib/visible-text.ts'

const maxTitleChars = 200

/** One line of bounded length. Control characters and marks that change the direction of the text are shown as escapes. */
export function toTitle(text: string, maxChars = maxTitleChars): string {
  const line = text
    .slice(0, maxChars * 50)
    .toWellFormed()
    .replace(/[\t\n\v\f\r\u0085\p{Z}]+/gu, ' ')
  return toVisibleText(line).trim().slice(0, maxChars).toWellFormed()
}
