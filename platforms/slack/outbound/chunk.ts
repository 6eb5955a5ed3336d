/**
 * Splits rendered text at line ends. A code block is closed at the end of a chunk and opened again in the next one.
 */
const codeFence = '```'

/** Each chunk is at most `limitChars` long (UTF-16 units). */
export function splitText(text: string, limitChars: number): string[] {
  const chunks: string[] = []
  let rest = text
  while (rest.length > limitChars) {
    // Leaves space for the closing fence of a code block.
    const at = splitIndex(rest, limitChars - codeFence.length - 1)
    const head = rest.slice(0, at)
    const inCode = head.split(codeFence).length % 2 === 0
    chunks.push(inCode ? `${head.trimEnd()}\n${codeFence}` : head.trimEnd())
    // Drops the separator between two chunks, but keeps empty lines of code.
    const tail = rest.slice(at).replace(inCode ? /^\n/ : /^(?:\n+| )/, '')
    rest = inCode ? `${codeFence}\n${tail}` : tail
  }
  if (rest.trim() !== '') chunks.push(rest)
  return chunks
}

function splitIndex(text: string, limit: number): number {
  const window = text.slice(0, limit)
  const line = window.lastIndexOf('\n')
  if (line > limit / 2) return line
  const word = window.lastIndexOf(' ')
  if (word > limit / 2) return word
  // Must not split a surrogate pair or `&amp;`.
  const entity = window.lastIndexOf('&')
  if (entity > limit - 6) return entity
  const last = window.charCodeAt(limit - 1)
  return last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit
}

/** The start of a text, at most `limitChars` long, with an ellipsis if it was truncated. */
export function truncate(text: string, limitChars: number): string {
  if (text.length <= limitChars) return text
  const [head = ''] = splitText(text, limitChars - 2)
  return `${head} …`
}
