import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OutboundAlbum, OutboundAttachment } from '../../../../src/message/outbound.ts'
import type { Target } from '../../../../src/message/source.ts'
import { neverAborted, startDiscordTest } from '../support.ts'

const create = 'POST /channels/:id/messages'

const file = (fileName: string, kind: OutboundAttachment['kind'] = 'document'): OutboundAttachment => {
  const blob = new Blob([`content of ${fileName}`])
  return { kind, fileName, mimeType: 'text/plain', source: { kind: 'file', bytes: blob.size, open: async () => blob } }
}

function albumTo(target: Target): OutboundAlbum {
  const files = [
    { caption: 'The **first**', attachment: file('a.txt') },
    { caption: '', attachment: file('b.png', 'image') },
    { caption: 'The last', attachment: file('c.txt') },
  ]
  return { deliveryId: 'album', target, kind: 'reply', files }
}

test('several files are one message with all captions', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  const result = await adapter.albums?.send(albumTo(targetFor(dm.id)), neverAborted)
  const [message, ...others] = discord.sent(dm.id)
  assert.deepEqual(others, [])
  assert.equal(message?.content, 'The **first**\nThe last')
  assert.deepEqual(
    message?.attachments.map(({ filename }) => filename),
    ['a.txt', 'b.png', 'c.txt'],
  )
  assert.deepEqual(result, { success: true, messageIds: [message?.id] })
})

test('files are sent together unless Discord shows them in another way', async (t) => {
  const { adapter } = await startDiscordTest(t)
  const groupOf = adapter.albums?.groupOf
  assert.ok(groupOf !== undefined)
  assert.equal(groupOf(file('a.txt')), groupOf(file('b.png', 'image')))
  assert.equal(groupOf(file('c.ogg', 'voice')), undefined)
  assert.equal(groupOf({ ...file('d.png', 'image'), source: { kind: 'url' } }), undefined)
})

test('a message with files whose response is lost is found, and a repetition makes no second post', async (t) => {
  const { discord, adapter, dm, targetFor, createAnother } = await startDiscordTest(t)
  discord.faults.dropResponse(create)
  const album = albumTo(targetFor(dm.id))
  const lost = await adapter.albums?.send(album, neverAborted)
  assert.ok(lost !== undefined && !lost.success && lost.maybeSent === true)
  await adapter.disconnect()
  const next = createAnother()
  await next.connect(neverAborted)
  assert.equal(await next.albums?.resolveUnknown?.(album, neverAborted), 'unknown')
  assert.equal((await next.albums?.send(album, neverAborted))?.success, true)
  assert.equal(discord.sent(dm.id).length, 1)
  assert.equal(discord.counts.deduplicated, 1)
})

test('a file that is too large rejects the whole message, so that the files are sent one by one', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  const album = albumTo(targetFor(dm.id))
  const big = new Blob([new Uint8Array(11e6)])
  const source = { kind: 'file' as const, bytes: big.size, open: async () => big }
  const files = [...album.files, { caption: '', attachment: { ...file('big.bin'), source } }]
  const result = await adapter.albums?.send({ ...album, files }, neverAborted)
  assert.ok(result !== undefined && !result.success && result.problem === 'rejected')
  assert.deepEqual(discord.sent(dm.id), [])
})
