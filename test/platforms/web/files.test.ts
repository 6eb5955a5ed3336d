/**
 * Files of messages on the page's side of the gateway: what people send, and what the agent sends.
 */
import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createPng } from '../../kit/pictures.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { toJsonValue } from '../../kit/to-json-value.ts'
import { fieldsOf, posting, startGateway, target, withToken } from './support.ts'

async function setUp(t: TestContext) {
  const gateway = await startGateway({ mediaFolder: join(tempHome(t), 'media') })
  const upload = async (id: string, content: Buffer, name = 'cat.png') => {
    await gateway.request('/api/uploads', posting({ id, name, type: 'image/png', bytes: content.length }))
    await gateway.request(`/api/uploads/${id}?from=0`, {
      method: 'POST',
      headers: withToken,
      body: new Uint8Array(content),
    })
  }
  const send = (files: unknown, text = '') =>
    gateway.request('/web/messages', posting({ chat: target.chatId, id: 'message-0001', text, files }))
  const file = (path: string) => gateway.request(`/web/files/${path}`, { headers: withToken })
  const history = async () => {
    const response = await gateway.request(`/web/history?chat=${target.chatId}`, { headers: withToken })
    const { entries } = Object(await response.json())
    return entries
  }
  return { gateway, upload, send, file, history }
}

const codeOf = async (response: Response) => Object(await response.json()).error.code

test('a message with a picture and no words is accepted, and other pages show the picture', async (t) => {
  const { gateway, upload, send, file, history } = await setUp(t)
  const png = createPng({ width: 30, height: 20 })
  await upload('upload-0000000001', png)
  assert.equal((await send(['upload-0000000001'])).status, 202)
  const { messageType, attachments = [] } = gateway.accepted[0] ?? {}
  assert.equal(messageType, 'photo')
  const { path: _, image, ...attachment } = fieldsOf(attachments[0])
  assert.equal(fieldsOf(image)['width'], 30)
  assert.deepEqual(toJsonValue(attachment), {
    kind: 'photo',
    fileName: 'cat.png',
    mimeType: 'image/png',
    bytes: png.length,
  })
  const [entry] = await history()
  const [shown] = entry.files
  const served = await file(shown.path)
  assert.equal(served.headers.get('content-type'), 'image/png')
  assert.deepEqual(Buffer.from(await served.arrayBuffer()), png)
  assert.equal((await send(['upload-0000000001'])).status, 202)
  assert.equal(gateway.accepted.length, 1)
})

test('a message names why it cannot have its files', async (t) => {
  const { gateway, upload, send } = await setUp(t)
  assert.equal((await send([], '')).status, 400)
  assert.equal(await codeOf(await send('cat.png')), 'http/bad-request')
  assert.equal(await codeOf(await send(['../../secret'])), 'http/bad-request')
  assert.equal(await codeOf(await send(Array(9).fill('upload-0000000001'))), 'media/too-many')
  await upload('upload-0000000001', createPng())
  await gateway.request('/api/uploads/upload-0000000001', { method: 'DELETE', headers: withToken })
  const gone = await send(['upload-0000000001'])
  assert.equal(gone.status, 410)
  assert.equal(await codeOf(gone), 'media/upload-gone')
  assert.deepEqual(gateway.accepted, [])
})

test('a file of the agent stays what it was when it was sent', async (t) => {
  const { gateway, file, history } = await setUp(t)
  const [first, second] = [createPng({ seed: 1 }), createPng({ seed: 2 })]
  await gateway.sendFile('chart.png', 'image/png', new Uint8Array(first))
  await gateway.sendFile('chart.png', 'image/png', new Uint8Array(second), 'Now with June')
  const entries = await history()
  const contents = []
  for (const entry of entries) contents.push(Buffer.from(await (await file(entry.files[0].path)).arrayBuffer()))
  assert.deepEqual(contents, [first, second])
  assert.equal(entries[1].files[0].caption, 'Now with June')
})

test('a page that asks for a file before it is kept gets it', async (t) => {
  const { gateway, file } = await setUp(t)
  await gateway.sendFile('one.png', 'image/png', new Uint8Array(createPng()))
  const deliveryId = 'file-1'
  const { toWireEntry } = await import('../../../platforms/web/files.ts')
  const next = { kind: 'image' as const, fileName: 'two.png', deliveryId }
  const entry = toWireEntry({ id: '2', from: 'agent', kind: 'message', text: '', at: 0, files: [next] })
  const asked = file(`${entry.files?.[0]?.path}?new`)
  const picture = createPng({ seed: 2 })
  await gateway.sendFile('two.png', 'image/png', new Uint8Array(picture))
  assert.deepEqual(Buffer.from(await (await asked).arrayBuffer()), picture)
})

for (const path of ['../gateway.token', 'uploads/upload-0000000001.part', 'pictures/none.png', '%2e%2e/secret', '']) {
  test(`nothing but the files of messages is served: ${path}`, async (t) => {
    const { upload, file } = await setUp(t)
    await upload('upload-0000000001', createPng())
    assert.equal((await file(path)).status, 404)
  })
}

test('a file that a page does not read to its end is closed', { skip: process.platform !== 'linux' }, async (t) => {
  const { gateway, upload, send, file, history } = await setUp(t)
  await upload('upload-0000000001', createPng({ fill: 1_000_000 }))
  await send(['upload-0000000001'])
  const [entry] = await history()
  const { path } = entry.files[0]
  await (await file(path)).body?.cancel()
  const { attachments = [] } = gateway.accepted[0] ?? {}
  const isOpen = () => readdirSync('/proc/self/fd').some((fd) => linkOf(`/proc/self/fd/${fd}`) === attachments[0]?.path)
  while (isOpen()) await new Promise(setImmediate)
})

/** '' for a descriptor that is closed by now. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

test('what a browser could run is served as bytes', async (t) => {
  const { upload, send, file, history } = await setUp(t)
  const contents = ['<!doctype html><script>alert(1)</script>', '<svg xmlns="http://www.w3.org/2000/svg"></svg>']
  await upload('upload-0000000001', Buffer.from(contents[0] ?? ''), 'page.html')
  await upload('upload-0000000002', Buffer.from(contents[1] ?? ''), 'drawing.svg')
  await send(['upload-0000000001', 'upload-0000000002'])
  const [entry] = await history()
  for (const [index, { path }] of entry.files.entries()) {
    const served = await file(path)
    assert.equal(served.headers.get('content-type'), 'application/octet-stream')
    assert.equal(served.headers.get('x-content-type-options'), 'nosniff')
    // A response that is not read keeps its file open.
    assert.equal(await served.text(), contents[index])
  }
})
