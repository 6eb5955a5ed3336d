import assert from 'node:assert/strict'
import { test } from 'node:test'
import { audioDuration } from '../../src/media/audio-duration.ts'
import { oggOpus } from '../kit/servers/media-server.ts'

const durationOf = (bytes: Buffer, size = bytes.length) => audioDuration(bytes, bytes, size)

function wav(bytesPerSecond: number): Buffer {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0, 'latin1')
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(bytesPerSecond, 28)
  return header
}

function mp4(units: number, unitsPerSecond: number): Buffer {
  const header = Buffer.alloc(60)
  header.write('\0\0\0\x10ftypM4A ', 0, 'latin1')
  header.write('mvhd', 16, 'latin1')
  header.writeUInt32BE(unitsPerSecond, 32)
  header.writeUInt32BE(units, 36)
  return header
}

test('the files of phones and recorders say how long they are', () => {
  assert.equal(durationOf(oggOpus(12.5)), 12.5)
  assert.equal(durationOf(wav(16_000), 44 + 32_000), 2)
  assert.equal(durationOf(mp4(90_000, 1_000)), 90)
})

test('of a damaged or another file the duration is unknown', () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('OggS'),
    oggOpus(-1),
    wav(0),
    mp4(1, 0),
    Buffer.from('ID3 an MP3 file'),
    mp4(1, 1).subarray(0, 30),
    Buffer.from(`OggS${'\0'.repeat(26)}\x01vorbis`.padEnd(40, '\0'), 'latin1'),
  ])
    assert.equal(durationOf(bytes), undefined)
})
