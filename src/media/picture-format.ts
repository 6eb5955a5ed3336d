/**
 * Reads the type and the size in pixels of a picture from its bytes, and finds pictures that models do not accept: torn ones,
 * animated ones, and ones of other types. Only headers are read; nothing is decoded.
 *
 * Written by hand, because the packages that read sizes check neither the end of a file nor animations.
 */
import type { ImageType } from '../message/transcript.ts'

export interface PictureFormat {
  readonly mimeType: ImageType
  /** Pixels. */
  readonly width: number
  readonly height: number
  readonly isAnimated: boolean
  /** The file ends before the picture does. */
  readonly isTorn: boolean
}

/** Undefined for a file that is none of the four types, or whose header is damaged. */
export function readPictureFormat(bytes: Uint8Array): PictureFormat | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  try {
    return readPng(file) ?? readJpeg(file) ?? readGif(file) ?? readWebp(file)
  } catch (error) {
    // A read behind the end: the file is shorter than its headers say.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function readPng(file: Buffer): PictureFormat | undefined {
  if (!startsWith(file, 0, '\x89PNG\r\n\x1a\n') || !startsWith(file, 12, 'IHDR')) return undefined
  const size = { width: file.readUInt32BE(16), height: file.readUInt32BE(20) }
  let isAnimated = false
  for (let at = 8; at + 12 <= file.length; at += 12 + file.readUInt32BE(at)) {
    const type = textAt(file, at + 4, 4)
    if (type === 'acTL') isAnimated = true
    if (type === 'IEND') return { mimeType: 'image/png', ...size, isAnimated, isTorn: false }
  }
  return { mimeType: 'image/png', ...size, isAnimated, isTorn: true }
}

/** The markers of the frame headers, which contain the size. C4, C8 and CC are other markers. */
function isFrameMarker(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

function readJpeg(file: Buffer): PictureFormat | undefined {
  if (!startsWith(file, 0, '\xff\xd8\xff')) return undefined
  let at = 2
  while (at < file.length) {
    if (file.readUInt8(at) !== 0xff) return undefined
    const marker = file.readUInt8(at + 1)
    // Bytes of value 255 may fill the space before a marker.
    if (marker === 0xff) at += 1
    else if (isFrameMarker(marker)) {
      const size = { height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7) }
      // Some cameras add data behind the end, so the end is searched.
      return { mimeType: 'image/jpeg', ...size, isAnimated: false, isTorn: file.lastIndexOf('\xff\xd9', 'latin1') < at }
    } else at += 2 + file.readUInt16BE(at + 2)
  }
  return undefined
}

function readGif(file: Buffer): PictureFormat | undefined {
  if (!startsWith(file, 0, 'GIF87a') && !startsWith(file, 0, 'GIF89a')) return undefined
  const size = { width: file.readUInt16LE(6), height: file.readUInt16LE(8) }
  let frames = 0
  for (let at = 13 + colorTableBytes(file.readUInt8(10)); at < file.length; ) {
    const block = file.readUInt8(at)
    if (block === 0x3b) return { mimeType: 'image/gif', ...size, isAnimated: frames > 1, isTorn: frames === 0 }
    if (block === 0x2c) {
      frames += 1
      at = endOfSubBlocks(file, at + 11 + colorTableBytes(file.readUInt8(at + 9)))
    } else if (block === 0x21) at = endOfSubBlocks(file, at + 2)
    else return undefined
  }
  return { mimeType: 'image/gif', ...size, isAnimated: frames > 1, isTorn: true }
}

function colorTableBytes(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1)
}

/** Blocks begin with their length; the last one is empty. */
function endOfSubBlocks(file: Buffer, from: number): number {
  let at = from
  while (at < file.length && file.readUInt8(at) !== 0) at += 1 + file.readUInt8(at)
  return at + 1
}

function readWebp(file: Buffer): PictureFormat | undefined {
  if (!startsWith(file, 0, 'RIFF') || !startsWith(file, 8, 'WEBP')) return undefined
  const size = readWebpSize(file)
  if (size === undefined) return undefined
  const isAnimated = startsWith(file, 12, 'VP8X') && (file.readUInt8(20) & 0x02) !== 0
  return { mimeType: 'image/webp', ...size, isAnimated, isTorn: file.length < file.readUInt32LE(4) + 8 }
}

function readWebpSize(file: Buffer): { readonly width: number; readonly height: number } | undefined {
  switch (textAt(file, 12, 4)) {
    case 'VP8X':
      return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 }
    case 'VP8 ':
      return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = file.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    default:
      return undefined
  }
}

function textAt(file: Buffer, at: number, length: number): string {
  return file.toString('latin1', at, at + length)
}

function startsWith(file: Buffer, at: number, text: string): boolean {
  return textAt(file, at, text.length) === text
}
