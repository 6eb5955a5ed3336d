/**
 * Reads the files of a `.tar`, `.tar.gz` or `.zip` archive into memory. Nothing is written, no link is followed, and an archive
 * that would grow beyond the limits is refused before it does.
 */
import { gunzipSync, inflateRawSync } from 'node:zlib'
import { blockSize, longNameOf, paddedSize, readTarHeader, type TarHeader } from '../../lib/tar.ts'

export interface ArchiveFile {
  /** Relative, with `/`, without `..`. */
  readonly path: string
  readonly content: Buffer
}

/** What is wrong with an archive, as a clause about it. */
export class ArchiveError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ArchiveError'
  }
}

export const maxFiles = 500
export const maxTotalBytes = 10_485_760

/** Throws `ArchiveError`. Folders are left out. */
export function readArchive(bytes: Buffer): ArchiveFile[] {
  const isZip = bytes.subarray(0, 2).toString('latin1') === 'PK'
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b
  const files = isZip ? readZip(bytes) : readTar(isGzip ? gunzip(bytes) : bytes)
  if (files.length > maxFiles) throw new ArchiveError(`it has more than ${maxFiles} files`)
  const seen = new Set<string>()
  for (const { path } of files) {
    if (seen.has(path)) throw new ArchiveError(`it contains ${path} twice`)
    seen.add(path)
  }
  for (const { path } of files) {
    const folder = foldersOf(path).find((folderName) => seen.has(folderName))
    if (folder !== undefined) throw new ArchiveError(`it contains ${folder} as a file and as a folder`)
  }
  return files
}

/** `a/b/c` is in `a` and `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

function gunzip(bytes: Buffer): Buffer {
  return unpack(() => gunzipSync(bytes, { maxOutputLength: maxTotalBytes + 1_048_576 }))
}

function unpack(run: () => Buffer): Buffer {
  try {
    return run()
  } catch (error) {
    const isTooLarge = error instanceof RangeError
    const message = isTooLarge ? `it unpacks to more than ${maxTotalBytes} bytes` : 'it is damaged'
    throw new ArchiveError(message, { cause: error })
  }
}

/** The name of an entry, checked. */
function safePath(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  const isUnsafe =
    name.startsWith('/') ||
    /[\\\0]|^[a-z]:/i.test(name) ||
    parts.includes('..') ||
    name.length > 500 ||
    parts.length > 12
  if (isUnsafe)
    throw new ArchiveError(`it contains the path ${JSON.stringify(name.slice(0, 100))}, which leads elsewhere`)
  return parts.join('/')
}

function readTar(bytes: Buffer): ArchiveFile[] {
  const files: ArchiveFile[] = []
  let longName = ''
  let total = 0
  for (const { type, name, content } of tarEntries(bytes)) {
    if (type === 'x' || type === 'L') longName = longNameOf(type, content)
    else if (type !== '5' && type !== 'g') {
      const shown = longName || name
      longName = ''
      if (type === '1' || type === '2') throw new ArchiveError(`it contains a link: ${shown.slice(0, 100)}`)
      if (type !== '0' && type !== '7') throw new ArchiveError(`it contains ${shown.slice(0, 100)}, which is no file`)
      total += content.length
      if (total > maxTotalBytes) throw new ArchiveError(`it unpacks to more than ${maxTotalBytes} bytes`)
      files.push({ path: safePath(shown), content })
      if (files.length > maxFiles) return files
    } else if (type === '5') longName = ''
  }
  return files
}

function* tarEntries(bytes: Buffer) {
  for (let at = 0; at + blockSize <= bytes.length; ) {
    const header = headerAt(bytes, at)
    if (header === 'end') return
    const { type, name, size } = header
    const content = bytes.subarray(at + blockSize, at + blockSize + size)
    if (content.length < size) throw new ArchiveError('it ends too early')
    at += blockSize + paddedSize(size)
    yield { type, name, content }
  }
}

function headerAt(bytes: Buffer, at: number): TarHeader | 'end' {
  try {
    return readTarHeader(bytes.subarray(at, at + blockSize))
  } catch (error) {
    throw new ArchiveError('it is no .zip, .tar or .tar.gz archive, or it is damaged', { cause: error })
  }
}

/** Reads the directory at the end of the file, as all programs do. */
function readZip(bytes: Buffer): ArchiveFile[] {
  const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end === -1 || end + 22 > bytes.length) throw new ArchiveError('it ends too early')
  const count = bytes.readUInt16LE(end + 10)
  if (count > maxFiles * 2) throw new ArchiveError(`it has more than ${maxFiles} files`)
  const files: ArchiveFile[] = []
  let at = bytes.readUInt32LE(end + 16)
  let total = 0
  for (let entry = 0; entry < count; entry++) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== 0x02014b50) throw new ArchiveError('it is damaged')
    const nameLength = bytes.readUInt16LE(at + 28)
    const name = bytes.subarray(at + 46, at + 46 + nameLength).toString('utf8')
    const mode = bytes.readUInt32LE(at + 38) >>> 16
    if ((mode & 0o170000) === 0o120000) throw new ArchiveError(`it contains a link: ${name.slice(0, 100)}`)
    if ((bytes.readUInt16LE(at + 8) & 1) === 1) throw new ArchiveError('it is encrypted')
    const path = safePath(name)
    if (!name.endsWith('/')) {
      const content = readZipEntry(bytes, at, maxTotalBytes - total)
      total += content.length
      files.push({ path, content })
    }
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return files
}

/** @param at the entry in the directory; @param left bytes that may still be unpacked */
function readZipEntry(bytes: Buffer, at: number, left: number): Buffer {
  const method = bytes.readUInt16LE(at + 10)
  const packedSize = bytes.readUInt32LE(at + 20)
  const offset = bytes.readUInt32LE(at + 42)
  if (offset + 30 > bytes.length) throw new ArchiveError('it is damaged')
  const from = offset + 30 + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28)
  const packed = bytes.subarray(from, from + packedSize)
  if (packed.length < packedSize) throw new ArchiveError('it ends too early')
  if (method !== 0 && method !== 8) throw new ArchiveError('it uses a compression that is not supported; use deflate')
  if (left <= 0 || (method === 0 && packed.length > left))
    throw new ArchiveError(`it unpacks to more than ${maxTotalBytes} bytes`)
  return method === 0 ? packed : unpack(() => inflateRawSync(packed, { maxOutputLength: left }))
}
