/**
 * How many columns a text takes where every letter is as wide as the other, as in a code block.
 */

/** East Asian letters and most emoji take two. */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u
/** Accents, joiners and variation selectors take none. */
const none = /[\p{Mn}\p{Me}\p{Cf}]/u

export function displayWidth(text: string): number {
  let columns = 0
  for (const letter of text) {
    if (!none.test(letter)) columns += wide.test(letter) ? 2 : 1
  }
  return columns
}
