import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OutboundAlbum, OutboundAttachment } from '../../../../src/message/outbound.ts'
import { displayed } from '../../../kit/servers/slack/slack-server.ts'
import { direct, neverAborted, reply, startSlackTest } from '../support.ts'

const file = (fileName: string): OutboundAttachment => {
  const blob = new Blob([`content of ${fileName}`])
  return {
    kind: 'document',
    fileName,
    mimeType: 'text/plain',
    source: { kind: 'file', bytes: blob.size, open: async () => blob },
  }
}

function album(): OutboundAlbum {
  const { target, kind } = reply('', direct)
  const files = [
    { caption: 'The **first**', attachment: file('a.txt') },
    { caption: '', attachment: file('b.txt') },
    { caption: 'The last', attachment: file('c.txt') },
  ]
  return { deliveryId: 'album', target, kind, files }
}

test('several files are shared as one message with all captions', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  const result = await adapter.albums?.send(album(), neverAborted)
  assert.deepEqual(result, { success: true })
  const [post, ...others] = server.posts(direct)
  assert.deepEqual(others, [])
  assert.equal(displayed(post ?? { text: '' }), 'The *first*\nThe last')
  assert.deepEqual(
    post?.files?.map(({ name }) => name),
    ['a.txt', 'b.txt', 'c.txt'],
  )
  assert.equal(server.faults.calls('files.completeUploadExternal'), 1)
})

test('shared files with an unknown result are found by their first file', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  server.faults.dropResponse('files.completeUploadExternal')
  const lost = await adapter.albums?.send(album(), neverAborted)
  assert.ok(lost !== undefined && !lost.success && lost.maybeSent === true)
  const found = await adapter.albums?.resolveUnknown?.(album(), neverAborted)
  assert.deepEqual(found, { sent: true, messageIds: [server.posts(direct)[0]?.ts] })
})

test('an upload that fails shares none of the files and is not uncertain', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  let calls = 0
  server.faults.reset((call) => call.method === 'files.getUploadURLExternal' && ++calls === 2)
  const result = await adapter.albums?.send(album(), neverAborted)
  assert.ok(result !== undefined && !result.success && result.problem === 'temporary' && result.maybeSent !== true)
  assert.deepEqual(server.posts(direct), [])
})

test('an image that is given by its URL is not shared as a file', async (t) => {
  const { adapter } = await startSlackTest(t)
  const groupOf = adapter.albums?.groupOf
  assert.ok(groupOf !== undefined)
  assert.equal(groupOf({ ...file('a.png'), source: { kind: 'url' } }), undefined)
  assert.equal(groupOf(file('a.txt')), groupOf({ ...file('b.png'), kind: 'image' }))
})
