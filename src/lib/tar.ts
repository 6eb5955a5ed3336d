/**
 * Writes and reads tar archives (POSIX.1-2001 pax, which every `tar` reads). Files pass through in pieces.
 */
import { Buffer } from 'node:buffer'

export interface TarEntry {
  /** Relative, with `/`; that of a directory ends with `/`. */
  readonly path: string
  /** The number of bytes of the content. */
  readonly size: number
  readonly content: Iterable<Uint8Array>
  /** Permission bits. */
  readonly mode: number
  /** ms since 1970. */
  readonly modifiedAt: number
}

export interface TarHeader {
  /** `0` for a file, `5` for a directory; `x` and `L` before an entry with a long name. */
  readonly type: string
  readonly name: string
  readonly size: number
  readonly mode: number
}

export const blockSize = 512
/** The name field of a header, in bytes. A longer name gets a header of its own before it. */
const maxNameBytes = 100

/** The largest size that a header can have. */
const maxSize = 8 ** 11 - 1

/** Throws `RangeError` for a file of more than 8 GiB, or whose content is not as long as its size says. */
export function* tarArchive(entries: Iterable<TarEntry>): Generator<Uint8Array> {
  for (const { path, size, content, mode, modifiedAt } of entries) {
    const name = Buffer.from(path)
    if (size > maxSize) throw new RangeError(`${path} is too large for an archive`)
    if (name.length > maxNameBytes || !/^[\x20-\x7e]*$/.test(path)) {
      const record = paxRecord('path', path)
      yield header(Buffer.from('pax'), record.length, 0o600, modifiedAt, 'x')
      yield record
      yield* padding(record.length)
    }
    yield header(name.subarray(0, maxNameBytes), size, mode, modifiedAt, path.endsWith('/') ? '5' : '0')
    let written = 0
    for (const chunk of content) {
      written += chunk.length
      yield chunk
    }
    if (written !== size) throw new RangeError(`${path} has changed while it was read`)
    yield* padding(size)
  }
  yield Buffer.alloc(2 * blockSize)
}

function* padding(size: number): Generator<Uint8Array> {
  if (size % blockSize > 0) yield Buffer.alloc(blockSize - (size % blockSize))
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

/** The first block of an entry; `end` after the last one. Throws for a block that is no header. */
export function readTarHeader(block: Buffer): TarHeader | 'end' {
  if (block.every((byte) => byte === 0)) return 'end'
  const size = octalAt(block, 124, 12)
  if (!hasChecksum(block) || size === undefined) throw new Error('it is no tar archive, or it is damaged')
  const prefix = textAt(block, 257, 5) === 'ustar' ? textAt(block, 345, 155) : ''
  const name = textAt(block, 0, 100)
  return {
    type: textAt(block, 156, 1) || '0',
    name: prefix === '' ? name : `${prefix}/${name}`,
    size,
    mode: octalAt(block, 100, 8) ?? 0,
  }
}

/** The number of bytes that the content of an entry takes in the archive. */
export function paddedSize(size: number): number {
  return Math.ceil(size / blockSize) * blockSize
}

/** The name of the next entry, in the form of POSIX or of GNU. */
export function longNameOf(type: 'x' | 'L', content: Buffer): string {
  const text = content.toString('utf8')
  return type === 'L' ? text.replace(/\0+$/, '') : (/^\d+ path=(.*)$/m.exec(text)?.[1] ?? '')
}

function hasChecksum(block: Buffer): boolean {
  let sum = 0
  for (const [index, byte] of block.entries()) sum += index >= 148 && index < 156 ? 32 : byte
  return sum === octalAt(block, 148, 8)
}

/** A negative number, which would make a reader go backwards, is none. */
function octalAt(block: Buffer, from: number, length: number): number | undefined {
  const field = textAt(block, from, length).trim() || '0'
  return /^[0-7]+$/.test(field) ? Number.parseInt(field, 8) : undefined
}

function textAt(block: Buffer, from: number, length: number): string {
  const field = block.subarray(from, from + length)
  const end = field.indexOf(0)
  return field.subarray(0, end === -1 ? length : end).toString('utf8')
}
