/**
 * How long a recording is, where the file says so near its beginning or its end: Ogg, WAV, MP4 and M4A.
 */
import { open } from 'node:fs/promises'

/** Enough for the last page of an Ogg file, and for the header of an MP4 file. */
const inspectedBytes = 131_072

/** Seconds; undefined when the file does not say. Rejects with system errors. */
export async function readAudioDuration(path: string): Promise<number | undefined> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const read = async (from: number) => {
      const buffer = Buffer.alloc(Math.min(inspectedBytes, size - from))
      return buffer.subarray(0, (await file.read(buffer, 0, buffer.length, from)).bytesRead)
    }
    return audioDuration(await read(0), await read(Math.max(0, size - inspectedBytes)), size)
  } finally {
    await file.close()
  }
}

/** @param size of the whole file, bytes */
export function audioDuration(head: Buffer, tail: Buffer, size: number): number | undefined {
  const start = head.toString('latin1', 0, 12)
  const seconds = start.startsWith('OggS')
    ? oggDuration(head, tail)
    : /^RIFF.{4}WAVE/s.test(start)
      ? wavDuration(head, size)
      : start.slice(4, 8) === 'ftyp'
        ? (mp4Duration(head) ?? mp4Duration(tail))
        : undefined
  return seconds !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}

/** The time base of Opus, independent of the recording. */
const opusSamplesPerSecond = 48_000

function oggDuration(head: Buffer, tail: Buffer): number | undefined {
  const lastPage = tail.lastIndexOf('OggS', undefined, 'latin1')
  if (lastPage === -1 || lastPage + 14 > tail.length) return undefined
  // The position in samples follows the capture pattern, the version and the flags of a page.
  const samples = Number(tail.readBigInt64LE(lastPage + 6))
  if (head.subarray(0, 128).indexOf('OpusHead', 0, 'latin1') !== -1) return samples / opusSamplesPerSecond
  const vorbis = head.subarray(0, 128).indexOf('\x01vorbis', 0, 'latin1')
  if (vorbis === -1 || vorbis + 16 > head.length) return undefined
  return samples / head.readUInt32LE(vorbis + 12)
}

function wavDuration(head: Buffer, size: number): number | undefined {
  const format = head.indexOf('fmt ', 12, 'latin1')
  if (format === -1 || format + 20 > head.length) return undefined
  const bytesPerSecond = head.readUInt32LE(format + 16)
  return bytesPerSecond === 0 ? undefined : (size - 44) / bytesPerSecond
}

function mp4Duration(part: Buffer): number | undefined {
  const header = part.indexOf('mvhd', 0, 'latin1')
  if (header === -1 || header + 40 > part.length) return undefined
  // Behind the name: the version with flags, two times, the units of a second, and the duration in them.
  const isLong = part[header + 4] === 1
  const unitsPerSecond = part.readUInt32BE(header + (isLong ? 24 : 16))
  const units = isLong ? Number(part.readBigUInt64BE(header + 28)) : part.readUInt32BE(header + 20)
  return unitsPerSecond === 0 ? undefined : units / unitsPerSecond
}
