/**
 * Promises about files that are sent together.
 */
import assert from 'node:assert/strict'
import type { OutboundAlbum, OutboundAttachment } from '../../../../src/message/outbound.ts'
import type { Target } from '../../../../src/message/source.ts'
import { messageTo, neverAborted, type PlatformRequirement, requirement } from '../platform-requirement.ts'

export const albumRequirements: readonly PlatformRequirement[] = [
  requirement({
    name: 'two documents are one album, and a group depends on the file only',
    adapterNeeds: ['albums', 'sendsAttachments'],
    async check({ adapter: { albums } }) {
      assert.ok(albums.maxFiles >= 2 && albums.maxFiles <= 100, `maxFiles: ${albums.maxFiles}`)
      const [one, two] = [document('one.txt', ''), document('two.txt', '')].map(albums.groupOf)
      assert.equal(typeof one, 'string')
      assert.equal(two, one)
      for (const kind of kinds) {
        for (const [fileName, mimeType] of [
          ['file', ''],
          ['file.unknown', 'application/octet-stream'],
        ] as const) {
          for (const source of ['file', 'url'] as const) {
            const file = { kind, fileName, mimeType, source: { kind: source } }
            assert.equal(albums.groupOf(file), albums.groupOf(file))
          }
        }
      }
    },
  }),

  requirement({
    name: 'the files of an album are shown together, complete and in order, with a caption',
    needs: ['albumsShown'],
    adapterNeeds: ['albums', 'sendsAttachments'],
    async check({ adapter: { albums }, target, albumsShown, seen }) {
      const contents = Array.from({ length: albums.maxFiles }, (_, index) => `Content ${index}. ü\n`)
      const arrived = seen('The second file.')
      const album = albumTo(target, contents, ['', 'The second file.'])
      const result = await albums.send(album, neverAborted)
      assert.ok(result.success, JSON.stringify(result))
      const { messageIds } = result
      assert.ok(messageIds === undefined || messageIds.length === 1 || messageIds.length === contents.length)
      assert.equal(new Set(messageIds).size, messageIds?.length ?? 0)
      await arrived
      const shown = albumsShown().map((files) => files.map((bytes) => Buffer.from(bytes).toString()))
      assert.deepEqual(shown, [contents])
    },
  }),

  requirement({
    name: 'an album with a file that cannot be read is `rejected`, and no file of it is shown',
    needs: ['albumsShown'],
    adapterNeeds: ['albums', 'sendsAttachments'],
    async check({ adapter: { albums }, target, albumsShown, sentCalls }) {
      const album = albumTo(target, ['one', 'two', 'three'])
      const [first, second, third] = album.files
      assert.ok(first !== undefined && second !== undefined && third !== undefined)
      const open = () => Promise.reject(new Error('the file is gone'))
      const broken = { ...second.attachment, source: { kind: 'file' as const, bytes: 3, open } }
      const before = sentCalls?.() ?? 0
      const files = [first, { ...second, attachment: broken }, third]
      const result = await albums.send({ ...album, files }, neverAborted)
      assert.ok(!result.success && result.problem === 'rejected' && result.maybeSent !== true, JSON.stringify(result))
      assert.deepEqual(albumsShown(), [])
      assert.equal(sentCalls?.() ?? 0, before)
    },
  }),

  requirement({
    name: 'a rate limit of an album is reported with its wait time, and the adapter does not retry',
    needs: ['rateLimit', 'sentCalls'],
    adapterNeeds: ['albums', 'sendsAttachments'],
    async check({ adapter: { albums }, target, rateLimit, sentCalls }) {
      rateLimit(2_000)
      const before = sentCalls()
      const result = await albums.send(albumTo(target, ['one', 'two']), neverAborted)
      assert.ok(!result.success && result.problem === 'rate-limited', JSON.stringify(result))
      const { retryAfterMs = 0 } = result
      assert.ok(retryAfterMs >= 2_000 && retryAfterMs <= 3_000, `wait time: ${retryAfterMs} ms`)
      assert.notEqual(result.maybeSent, true)
      assert.equal(sentCalls() - before, 1)
    },
  }),

  requirement({
    name: 'a lost response to an album sets `maybeSent`, the adapter does not send again, and a lookup never denies it',
    needs: ['dropResponse', 'albumsShown'],
    adapterNeeds: ['albums', 'sendsAttachments'],
    async check({ adapter: { albums }, target, dropResponse, albumsShown }) {
      const album = albumTo(target, ['one', 'two'])
      dropResponse()
      const result = await albums.send(album, neverAborted)
      assert.ok(!result.success && result.problem === 'temporary' && result.maybeSent === true, JSON.stringify(result))
      assert.equal(albumsShown().length, 1)
      for (const files of [album.files, album.files.slice(1)]) {
        const found = (await albums.resolveUnknown?.({ ...album, files }, neverAborted)) ?? 'unknown'
        assert.ok(found === 'unknown' || found.sent, JSON.stringify(found))
      }
    },
  }),

  requirement({
    name: 'a lookup tells a sent album from an unsent one',
    adapterNeeds: ['albums', 'sendsAttachments'],
    async check({ adapter: { albums }, target }) {
      const sent = albumTo(target, ['one', 'two'])
      assert.equal((await albums.send(sent, neverAborted)).success, true)
      const found = (await albums.resolveUnknown?.(sent, neverAborted)) ?? 'unknown'
      assert.ok(found === 'unknown' || found.sent, JSON.stringify(found))
      const unsent = { ...albumTo(target, ['three', 'four']), deliveryId: 'another album' }
      const missing = (await albums.resolveUnknown?.(unsent, neverAborted)) ?? 'unknown'
      assert.ok(missing === 'unknown' || !missing.sent, JSON.stringify(missing))
    },
  }),

  requirement({
    name: 'an album that is aborted or sent after disconnect resolves with a result',
    adapterNeeds: ['albums', 'sendsAttachments'],
    async check({ adapter, target }) {
      const { albums } = adapter
      const aborted = await albums.send(albumTo(target, ['one', 'two']), AbortSignal.abort())
      assert.equal(typeof aborted.success, 'boolean')
      await adapter.disconnect()
      const late = await albums.send(albumTo(target, ['one', 'two']), neverAborted)
      assert.equal(typeof late.success, 'boolean')
    },
  }),
]

const kinds: readonly OutboundAttachment['kind'][] = ['image', 'animation', 'video', 'audio', 'voice', 'document']

function albumTo(target: Target, contents: readonly string[], captions: readonly string[] = []): OutboundAlbum {
  const { deliveryId, kind } = messageTo(target, '', 'album')
  const files = contents.map((content, index) => ({
    caption: captions[index] ?? '',
    attachment: document(`file-${index}.txt`, content),
  }))
  return { deliveryId, target, kind, turnId: 'turn', files }
}

function document(fileName: string, content: string): OutboundAttachment {
  const blob = new Blob([content], { type: 'text/plain' })
  const source = { kind: 'file' as const, bytes: blob.size, open: async () => blob }
  return { kind: 'document', fileName, mimeType: 'text/plain', source }
}
