/**
 * The metadata that Discord requires for a voice message. Pure.
 */
export interface VoiceMetadata {
  readonly durationSecs: number
  /** Base64, one byte per point. A constant, because the recording is not decoded. */
  readonly waveform: string
}

/** The time base of Opus, independent of the recording. */
const samplesPerSecond = 48_000
const maxWaveformPoints = 256

/** Undefined unless it is Opus in an Ogg file: Discord plays no other format as a voice message. */
export function parseVoice(bytes: Uint8Array): VoiceMetadata | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const lastPage = file.lastIndexOf('OggS', undefined, 'latin1')
  if (file.indexOf('OggS', 0, 'latin1') !== 0 || file.subarray(0, 64).indexOf('OpusHead', 0, 'latin1') === -1) {
    return undefined
  }
  if (lastPage < 0 || lastPage + 14 > file.length) return undefined
  // The position in samples follows the capture pattern, the version and the flags of a page.
  const samples = file.readBigUInt64LE(lastPage + 6)
  const durationSecs = Number(samples) / samplesPerSecond
  if (durationSecs <= 0 || durationSecs > 86_400) return undefined
  const points = Math.max(1, Math.min(maxWaveformPoints, Math.round(durationSecs * 10)))
  return { durationSecs: Math.round(durationSecs * 100) / 100, waveform: Buffer.alloc(points, 96).toString('base64') }
}
