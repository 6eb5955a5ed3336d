/**
 * Keeps the beginning and the end of a stream of bytes within a fixed size. The beginning shows what ran and the end shows
 * the result; the middle is the least useful part.
 */

export interface OutputBuffer {
  add(chunk: Uint8Array): void
  /**
   * The retained output as text. Invalid UTF-8 becomes U+FFFD, and NUL becomes U+2400, because databases and terminals
   * reject it. A separate line contains the number of bytes left out.
   */
  text(): string
}

/** `maxBytes` is the number of retained bytes, without the line about the bytes left out. */
export function createOutputBuffer(maxBytes: number): OutputBuffer {
  const headBudget = Math.ceil(maxBytes / 2)
  const tailBudget = maxBytes - headBudget
  const head: Buffer[] = []
  let headBytes = 0
  const tail: Buffer[] = []
  let tailBytes = 0
  let totalBytes = 0

  const addToTail = (chunk: Buffer) => {
    tail.push(chunk)
    tailBytes += chunk.length
    let oldest = tail[0]
    while (oldest !== undefined && tailBytes - oldest.length >= tailBudget) {
      tail.shift()
      tailBytes -= oldest.length
      oldest = tail[0]
    }
  }

  return {
    add(chunk) {
      const bytes = Buffer.from(chunk)
      totalBytes += bytes.length
      const headBytesLeft = Math.min(headBudget - headBytes, bytes.length)
      if (headBytesLeft > 0) {
        head.push(bytes.subarray(0, headBytesLeft))
        headBytes += headBytesLeft
      }
      if (headBytesLeft < bytes.length) addToTail(bytes.subarray(headBytesLeft))
    },
    text() {
      const start = Buffer.concat(head)
      const rest = Buffer.concat(tail)
      const buffer = rest.subarray(Math.max(0, rest.length - tailBudget))
      const whole = start.length + buffer.length === totalBytes
      if (whole) return decode(Buffer.concat([start, buffer]))
      const first = dropLastWord(trimIncompleteEnd(start))
      const last = dropFirstWord(trimIncompleteStart(buffer))
      const missing = totalBytes - first.length - last.length
      return `${decode(first)}\n[… ${missing} bytes left out …]\n${decode(last)}`
    },
  }
}

function decode(bytes: Buffer): string {
  return bytes.toString('utf8').replaceAll('\0', '\u2400')
}

/** The cut may be in a secret, of which a part would not be found later. Longer words are data. */
const maxWordBytes = 512

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

function dropLastWord(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && bytes.length - end < maxWordBytes && !isSpace(bytes[end - 1])) end -= 1
  return trimIncompleteEnd(bytes.subarray(0, end))
}

function dropFirstWord(bytes: Buffer): Buffer {
  let start = 0
  while (start < bytes.length && start < maxWordBytes && !isSpace(bytes[start])) start += 1
  return trimIncompleteStart(bytes.subarray(start))
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

/** Drops an incomplete character at the end. Bytes that are not UTF-8 stay. */
function trimIncompleteEnd(bytes: Buffer): Buffer {
  let start = bytes.length - 1
  while (start > bytes.length - 4 && isContinuation(bytes[start])) start--
  const lead = bytes[start] ?? 0
  const width = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start >= 0 && start + width > bytes.length ? bytes.subarray(0, start) : bytes
}

function trimIncompleteStart(bytes: Buffer): Buffer {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start++
  return bytes.subarray(start)
}
