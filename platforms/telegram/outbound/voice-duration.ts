/**
 * How long a voice message is: apps of Telegram show it before they load the file.
 */

/** The last page of an Ogg file is at most this long. */
const lastPageBytes = 65_536
/** The time base of Opus, independent of the recording. */
const samplesPerSecond = 48_000

/** Whole seconds; undefined unless it is Opus in an Ogg file. */
export async function voiceDuration(file: Blob): Promise<number | undefined> {
  const head = Buffer.from(await file.slice(0, 64).arrayBuffer())
  if (!head.toString('latin1').startsWith('OggS') || !head.includes('OpusHead')) return undefined
  const tail = Buffer.from(await file.slice(-lastPageBytes).arrayBuffer())
  const page = tail.lastIndexOf('OggS', undefined, 'latin1')
  if (page === -1 || page + 14 > tail.length) return undefined
  // The position in samples follows the capture pattern, the version and the flags of a page.
  const seconds = Number(tail.readBigInt64LE(page + 6)) / samplesPerSecond
  return seconds > 0 && seconds < 86_400 ? Math.max(1, Math.round(seconds)) : undefined
}
