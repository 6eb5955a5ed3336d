/**
 * Writes a tar archive (POSIX.1-2001 pax, which every `tar` reads) of files in memory.
 */
import { Buffer } from 'node:buffer'

export interface TarEntry {
  /** Relative, with `/`; that of a directory ends with `/`. */
  readonly path: string
  readonly content: Uint8Array
  /** Permission bits. */
  readonly mode: number
  /** ms since 1970. */
  readonly modifiedAt: number
}

const blockSize = 512
/** The name field of a header, in bytes. A longer name gets a header of its own before it. */
const maxNameBytes = 100

export function* tarArchive(entries: Iterable<TarEntry>): Generator<Uint8Array> {
  for (const { path, content, mode, modifiedAt } of entries) {
    const name = Buffer.from(path)
    if (name.length > maxNameBytes || !/^[\x20-\x7e]*$/.test(path)) {
      const record = paxRecord('path', path)
      yield header(Buffer.from('pax'), record.length, 0o600, modifiedAt, 'x')
      yield* blocks(record)
    }
    yield header(name.subarray(0, maxNameBytes), content.length, mode, modifiedAt, path.endsWith('/') ? '5' : '0')
    yield* blocks(content)
  }
  yield Buffer.alloc(2 * blockSize)
}

function* blocks(content: Uint8Array): Generator<Uint8Array> {
  if (content.length === 0) return
  yield content
  const rest = content.length % blockSize
  if (rest > 0) yield Buffer.alloc(blockSize - rest)
}

/** `<length> <key>=<value>\n`, where the length counts itself. */
function paxRecord(key: string, value: string): Buffer {
  const text = ` ${key}=${value}\n`
  let length = Buffer.byteLength(text)
  while (Buffer.byteLength(`${length}${text}`) !== length) length = Buffer.byteLength(`${length}${text}`)
  return Buffer.from(`${length}${text}`)
}

function header(name: Uint8Array, size: number, mode: number, modifiedAt: number, type: '0' | '5' | 'x'): Buffer {
  const block = Buffer.alloc(blockSize)
  const octal = (value: number, at: number, length: number) =>
    block.write(
      `${Math.floor(value)
        .toString(8)
        .padStart(length - 1, '0')}\0`,
      at,
      'latin1',
    )
  block.set(name, 0)
  octal(mode & 0o777, 100, 8)
  // Owner and group 0: who unpacks the archive owns the files.
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(Math.max(0, modifiedAt / 1_000), 136, 12)
  block.write('        ', 148, 'latin1')
  block.write(type, 156, 'latin1')
  block.write('ustar\x0000', 257, 'latin1')
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return block
}
