/**
 * Cuts rendered text into pieces that fit, at the ends of lines, with code blocks closed and opened again.
 */
const codeFence = '```'

/** Each piece is at most `limitChars` long (UTF-16 units). */
export function splitText(text: string, limitChars: number): string[] {
  const pieces: string[] = []
  let rest = text
  while (rest.length > limitChars) {
    // Room for closing a code block.
    const at = splitIndex(rest, limitChars - codeFence.length - 1)
    const head = rest.slice(0, at)
    const inCode = head.split(codeFence).length % 2 === 0
    pieces.push(inCode ? `${head.trimEnd()}\n${codeFence}` : head.trimEnd())
    // What parted the two pieces is not repeated; blank lines of code are code.
    const tail = rest.slice(at).replace(inCode ? /^\n/ : /^(?:\n+| )/, '')
    rest = inCode ? `${codeFence}\n${tail}` : tail
  }
  if (rest.trim() !== '') pieces.push(rest)
  return pieces
}

function splitIndex(text: string, limit: number): number {
  const window = text.slice(0, limit)
  const line = window.lastIndexOf('\n')
  if (line > limit / 2) return line
  const word = window.lastIndexOf(' ')
  if (word > limit / 2) return word
  // Not inside a character, nor inside `&amp;`.
  const entity = window.lastIndexOf('&')
  if (entity > limit - 6) return entity
  const last = window.charCodeAt(limit - 1)
  return last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit
}

/** The beginning of a text, at most `limitChars` long, with a sign where something is missing. */
export function truncate(text: string, limitChars: number): string {
  if (text.length <= limitChars) return text
  const [head = ''] = splitText(text, limitChars - 2)
  return `${head} …`
}
