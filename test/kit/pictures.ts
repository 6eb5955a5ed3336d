/**
 * Small pictures of each type, and PNG files of any size.
 */
import { crc32, deflateSync } from 'node:zlib'

/** A whole PNG file of one colour. Different seeds give different files. */
export function createPng({
  width = 4,
  height = 3,
  seed = 0,
  fill = 0,
}: {
  readonly width?: number
  readonly height?: number
  readonly seed?: number
  /** Bytes of a chunk that decoders ignore, so that the file gets larger. */
  readonly fill?: number
} = {}): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8 bits per pixel, in greys.
  header.writeUInt8(8, 8)
  const small = width * height <= 1_000_000
  const pixels = small ? deflateSync(Buffer.alloc((width + 1) * height, seed & 0xff)) : Buffer.alloc(0)
  const ignored = Buffer.alloc(fill, seed)
  const note = Buffer.from(`Comment\0${seed}`)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('tEXt', note),
    ...(fill === 0 ? [] : [chunk('fiLl', ignored)]),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, checksum])
}
