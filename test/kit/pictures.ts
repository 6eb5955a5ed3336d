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

function decode(...lines: readonly string[]): Buffer {
  return Buffer.from(lines.join(''), 'base64')
}

/** One pixel each, as Chromium writes them. */
export const jpeg: Buffer = decode(
  '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6j',
  'q62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk',
  'pKSkpKSkpKT/wAARCAABAAEDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QA',
  'FQEBAQAAAAAAAAAAAAAAAAAAAwX/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCYACs//9k=',
)
const lossyWebp = decode('UklGRjQAAABXRUJQVlA4ICgAAABwAQCdASoBAAEABABoJaACdAFAAAD+5AF1xc2RFH/xDn8uX8QV/AAA')
export const gif: Buffer = decode('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7')

/** The header that precedes the chunk of a picture with further features, such as frames. */
function withFeatures(webp: Buffer, features: number): Buffer {
  const header = Buffer.from('VP8X\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0', 'latin1')
  header.writeUInt8(features, 8)
  const rest = Buffer.concat([Buffer.from('WEBP'), header, webp.subarray(12)])
  const length = Buffer.alloc(4)
  length.writeUInt32LE(rest.length)
  return Buffer.concat([Buffer.from('RIFF'), length, rest])
}

/** Lossy, without loss, and with a header for features. */
export const webps: readonly Buffer[] = [
  lossyWebp,
  decode('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=='),
  withFeatures(lossyWebp, 0),
]
export const animatedWebp: Buffer = withFeatures(lossyWebp, 0x02)

/** Its only frame twice. */
export const animatedGif: Buffer = Buffer.concat([gif.subarray(0, -1), gif.subarray(19, -1), Buffer.from(';')])
