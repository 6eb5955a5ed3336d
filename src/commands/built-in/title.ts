/**
 * Names that people give to conversations.
 */
const maxTitleChars = 200

/** One line of bounded length. Control characters and marks that change the direction of the text are removed. */
export function toTitle(text: string, maxChars = maxTitleChars): string {
  return text
    .slice(0, maxChars * 50)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '')
    .trim()
    .slice(0, maxChars)
    .toWellFormed()
}
