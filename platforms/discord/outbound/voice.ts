/**
 * Voice messages: what Discord wants to know of a recording beside its bytes. Pure.
 */
export interface VoiceMetadata {
  readonly durationSecs: number
  /** Base64, one byte for each point of the picture; a recording is not decoded, so it is a plain band. */
  readonly waveform: string
}

/** Opus counts 48,000 samples a second, whatever was recorded. */
const samplesPerSecond = 48_000
const maxWaveformPoints = 256

/** Undefined where it is no Opus in an Ogg file: Discord plays nothing else as a voice message. */
export function parseVoice(bytes: Uint8Array): VoiceMetadata | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const lastPage = file.lastIndexOf('OggS', undefined, 'latin1')
  if (file.indexOf('OggS', 0, 'latin1') !== 0 || file.subarray(0, 64).indexOf('OpusHead', 0, 'latin1') === -1) {
    return undefined
  }
  if (lastPage < 0 || lastPage + 14 > file.length) return undefined
  // The position in samples stands behind the mark, the version and the flags of a page.
  const samples = file.readBigUInt64LE(lastPage + 6)
  const durationSecs = Number(samples) / samplesPerSecond
  if (durationSecs <= 0 || durationSecs > 86_400) return undefined
  const points = Math.max(1, Math.min(maxWaveformPoints, Math.round(durationSecs * 10)))
  return { durationSecs: Math.round(durationSecs * 100) / 100, waveform: Buffer.alloc(points, 96).toString('base64') }
}
