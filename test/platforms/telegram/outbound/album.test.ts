import assert from 'node:assert/strict'
import { test } from 'node:test'
import { albumGroupOf } from '../../../../platforms/telegram/outbound/album.ts'
import type { OutboundAlbum, OutboundAttachment } from '../../../../src/message/outbound.ts'
import { signal, startTelegramTest, target } from '../support.ts'

const dot: OutboundAttachment = {
  kind: 'image',
  fileName: 'dot.png',
  mimeType: 'image/png',
  source: { kind: 'file', bytes: 3, open: async () => new Blob(['abc']) },
}
const film = { ...dot, kind: 'video' as const, fileName: 'film.mp4', mimeType: 'video/mp4' }
const albumOf = (...files: OutboundAlbum['files']): OutboundAlbum => ({
  deliveryId: 'd',
  target,
  kind: 'reply',
  replyTo: '1',
  files,
})

test('photos and videos are shown as one album, each with its caption', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const remote = { ...dot, source: { kind: 'url' as const, url: 'https://files.example/sea.png' } }
  const album = albumOf(
    { caption: 'A **dot**', attachment: dot },
    { caption: '', attachment: film },
    { caption: 'The sea', attachment: remote },
  )
  const result = await adapter.albums?.send(album, signal)
  const { shown } = server.bot.chats
  assert.deepEqual(
    shown.map(({ file, text, entities }) => [file?.field, text, entities.map(({ type }) => type)]),
    [
      ['photo', 'A dot', ['bold']],
      ['video', '', []],
      ['photo', 'The sea', []],
    ],
  )
  assert.equal(shown[2]?.file?.url, 'https://files.example/sea.png')
  assert.equal(new Set(shown.map(({ album: id }) => id)).size, 1)
  assert.deepEqual(result, { success: true, messageIds: shown.map(({ id }) => String(id)) })
  assert.equal(server.faults.calls('sendMediaGroup'), 1)
})

test('files that Telegram does not mix have different groups, and some have none', () => {
  const groupOf = (kind: OutboundAttachment['kind'], fileName: string, mimeType: string) =>
    albumGroupOf({ kind, fileName, mimeType, source: { kind: 'file' } })
  assert.equal(groupOf('image', 'a.png', 'image/png'), groupOf('video', 'a.mp4', 'video/mp4'))
  const groups = [
    groupOf('image', 'a.png', 'image/png'),
    groupOf('audio', 'a.mp3', 'audio/mpeg'),
    groupOf('document', 'a.pdf', 'application/pdf'),
  ]
  assert.equal(new Set(groups).size, 3)
  // A video of another type is a document.
  assert.equal(groupOf('video', 'a.mkv', 'video/x-matroska'), groups[2])
  assert.equal(groupOf('animation', 'a.gif', 'image/gif'), undefined)
  assert.equal(groupOf('voice', 'a.ogg', 'audio/ogg'), undefined)
})

test('an album that Telegram would refuse is rejected without a call, so that its files are sent one by one', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const large = { ...dot, source: { ...dot.source, kind: 'file' as const, bytes: 11 * 1024 * 1024, open: neverOpen } }
  const huge = { ...film, source: { kind: 'file' as const, bytes: 3_000_000_000, open: neverOpen } }
  for (const files of [
    [
      { caption: '', attachment: dot },
      { caption: '', attachment: large },
    ],
    [
      { caption: '', attachment: dot },
      { caption: '', attachment: huge },
    ],
    [
      { caption: 'x'.repeat(1_025), attachment: dot },
      { caption: '', attachment: film },
    ],
  ]) {
    const result = await adapter.albums?.send(albumOf(...files), signal)
    assert.ok(result !== undefined && !result.success && result.problem === 'rejected', JSON.stringify(result))
    assert.notEqual(result.maybeSent, true)
  }
  assert.equal(server.faults.calls('sendMediaGroup'), 0)
})

test('an album with one file that Telegram refuses shows no file', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const broken = { ...dot, source: { kind: 'url' as const, url: 'not-an-address' } }
  const album = albumOf({ caption: '', attachment: dot }, { caption: '', attachment: broken })
  const result = await adapter.albums?.send(album, signal)
  assert.ok(result !== undefined && !result.success && result.problem === 'rejected')
  assert.deepEqual(server.bot.chats.shown, [])
})

function neverOpen(): Promise<never> {
  return Promise.reject(new Error('it was read'))
}
