/**
 * Splits a byte stream into lines in bounded memory.
 */

export interface LineReader {
  add(chunk: Buffer): void
  /** Removes and returns the bytes after the last line break. */
  takeRemainder(): string
}

/**
 * `onLine` receives each line without its line break. For a line longer than `maxBytes`, `onLineTooLong` receives its
 * beginning once, and the rest is skipped.
 */
export function createLineReader(
  maxBytes: number,
  onLine: (line: string) => void,
  onLineTooLong: (beginning: string) => void,
): LineReader {
  let chunks: Buffer[] = []
  let length = 0
  let skipping = false

  const append = (piece: Buffer) => {
    if (skipping || piece.length === 0) return
    chunks.push(piece)
    length += piece.length
    if (length <= maxBytes) return
    const beginning = takeLine().subarray(0, maxBytes)
    skipping = true
    onLineTooLong(beginning.toString('utf8'))
  }
  const takeLine = () => {
    const line = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
    chunks = []
    length = 0
    return line
  }

  return {
    add(chunk) {
      let from = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        append(chunk.subarray(from, end))
        if (!skipping) onLine(takeLine().toString('utf8'))
        skipping = false
        from = end + 1
      }
      append(chunk.subarray(from))
    },
    takeRemainder: () => takeLine().toString('utf8'),
  }
}
