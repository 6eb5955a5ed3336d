/**
 * Checks pasted texts before the editor gets them: their size, and characters that a terminal would obey or that turn the order of
 * others around. The editor shows a long one as `[paste #1 +240 lines]` and sends it whole.
 */

/** Characters of one message. */
export const maxMessageChars = 400_000

const start = '\u001b[200~'
const end = '\u001b[201~'
// Some terminals write a line break in a paste as a key with Ctrl, which the editor reads.
const unwanted =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that are removed
  /\u001b(?!\[\d{1,3};5u)|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** The input that the editor gets instead, or why it gets none. Undefined for input that is no paste. */
export function checkPaste(data: string): { readonly data: string } | { readonly problem: string } | undefined {
  if (!data.startsWith(start)) return undefined
  const chars = data.length - start.length - end.length
  if (chars <= maxMessageChars)
    return { data: start + data.slice(start.length, -end.length).replace(unwanted, '') + end }
  return { problem: tooLong(chars) }
}

/** The input of a paste. */
export function asPaste(text: string): string {
  return start + text + end
}

export function tooLong(chars: number): string {
  const size = (count: number) => `${(count / 1_000_000).toFixed(1)} million`
  return `${size(chars)} characters are too many; ${size(maxMessageChars)} fit. Save them in a file, and name it with @path.`
}
