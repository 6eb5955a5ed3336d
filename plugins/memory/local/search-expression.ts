/**
 * Turns a message into an FTS5 expression that matches facts with any of its words. Any text gives a valid expression.
 */

/** Words of most messages, which say nothing about a fact. */
const commonWords = new Set(
  'a about an and are as at be but by can did do does for from had has have how i if in is it its me my no not of on or our please she so tell that the their them then there they this to was we were what when where which who why will with would yes you your'.split(
    ' ',
  ),
)
const maxWords = 16
/** A longer word also matches words that begin with it: `key` does not match `keyboard`, `flight` matches `flights`. */
const minPrefixChars = 4

/** '' for a text without words that could match. */
export function searchExpression(text: string): string {
  const words =
    text
      .slice(0, 4_000)
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  const chosen = [...new Set(words)].filter((word) => !commonWords.has(word)).slice(0, maxWords)
  return chosen.map((word) => (word.length < minPrefixChars ? `"${word}"` : `"${word}"*`)).join(' OR ')
}
