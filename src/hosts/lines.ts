/**
 * Cuts a stream of bytes into lines, in bounded memory.
 */

export interface LineReader {
  add(chunk: Buffer): void
  /** What came after the last line break, if anything. */
  rest(): string
}

/**
 * `onLine` gets each line without its break. A line that grows beyond `maxBytes` is given to `onTooLong` once, with its
 * beginning; the rest of it is skipped.
 */
export function createLineReader(
  maxBytes: number,
  onLine: (line: string) => void,
  onTooLong: (beginning: string) => void,
): LineReader {
  let pieces: Buffer[] = []
  let length = 0
  let skipping = false

  const keep = (piece: Buffer) => {
    if (skipping || piece.length === 0) return
    pieces.push(piece)
    length += piece.length
    if (length <= maxBytes) return
    const beginning = take().subarray(0, maxBytes)
    skipping = true
    onTooLong(beginning.toString('utf8'))
  }
  const take = () => {
    const line = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
    pieces = []
    length = 0
    return line
  }

  return {
    add(chunk) {
      let from = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        keep(chunk.subarray(from, end))
        if (!skipping) onLine(take().toString('utf8'))
        skipping = false
        from = end + 1
      }
      keep(chunk.subarray(from))
    },
    rest: () => take().toString('utf8'),
  }
}
