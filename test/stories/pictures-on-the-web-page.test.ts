/**
 * Pictures between the page or a program, the whole gateway, and a model that sees.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createPng } from '../kit/pictures.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { tempHome } from '../kit/temp-home.ts'
import { createLineReader } from '../platforms/web/support.ts'
import { at, rowsIn } from './support.ts'

const picture = createPng({ width: 20, height: 10 })
const base64 = picture.toString('base64')
const id = 'upload-0123456789'

const start = (t: TestContext, options: TestGatewayOptions = {}) =>
  startTestGateway(t, { ...options, config: { model: 'gpt-5.2', ...options.config } })

const sendPiece = (gateway: TestGateway, from: number, piece: Buffer) =>
  gateway.http(`/api/uploads/${id}?from=${from}`, { method: 'POST', body: new Uint8Array(piece) })

const begin = (gateway: TestGateway) =>
  gateway.post('/api/uploads', { id, name: 'cat.png', type: 'image/png', bytes: picture.length })

/** Whether the request shows the picture. */
const isShown = async (gateway: TestGateway, call: number) =>
  JSON.stringify((await gateway.modelRequest(call)).body).includes(base64)

test('a picture of the page reaches the model, across a restart, and is in the history of other pages', async (t) => {
  const gateway = await start(t)
  await begin(gateway)
  await sendPiece(gateway, 0, picture.subarray(0, 30))
  await gateway.stop()
  await (await gateway.start()).initialConnectsDone()
  await sendPiece(gateway, 30, picture.subarray(30))
  const message = { chat: 'main', id: 'message-0001', text: 'what is it?', files: [id] }
  assert.equal((await gateway.post('/web/messages', message)).status, 202)
  assert.ok(await isShown(gateway, 0))
  const history: unknown = await (await gateway.http('/web/history?chat=main')).json()
  const served = await gateway.http(`/web/files/${String(at(history, 'entries', 0, 'files', 0, 'path'))}`)
  assert.deepEqual(Buffer.from(await served.arrayBuffer()), picture)
  const stored = ['inbox', 'messages', 'outbox'].map((name) =>
    JSON.stringify(rowsIn(gateway.home, `select * from ${name}`)),
  )
  assert.ok(stored.every((rows) => !rows.includes(base64.slice(0, 40))))
})

test('the page keeps a picture of the agent as it was when it was sent', async (t) => {
  const path = join(tempHome(t), 'chart.png')
  writeFileSync(path, picture)
  const gateway = await start(t, { replies: [{ text: `The chart.\n\nMEDIA:${path}` }] })
  const page = createLineReader(await gateway.http('/web/stream?chat=main'))
  t.after(() => page.close().catch(() => undefined))
  await gateway.post('/web/messages', { chat: 'main', id: 'message-0001', text: 'draw' })
  let file: unknown
  while (file === undefined) file = at(await page.until('entry'), 'entry', 'files', 0, 'path')
  const first = await gateway.http(`/web/files/${String(file)}?new`)
  assert.deepEqual(Buffer.from(await first.arrayBuffer()), picture)
  writeFileSync(path, createPng({ seed: 9 }))
  const later = await gateway.http(`/web/files/${String(file)}`)
  assert.deepEqual(Buffer.from(await later.arrayBuffer()), picture)
})

test('a piece that is cut off is not stored, and the upload goes on', async (t) => {
  const gateway = await start(t)
  await begin(gateway)
  const { hostname, port } = new URL(gateway.current().url)
  const socket = connect(Number(port), hostname)
  const head = [
    `POST /api/uploads/${id}?from=0 HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${gateway.current().token()}`,
    `Content-Length: ${picture.length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(picture.subarray(0, 20), () => socket.destroy())
  await new Promise((resolve) => socket.once('close', resolve))
  const state: unknown = await (await gateway.http(`/api/uploads/${id}`)).json()
  assert.equal(at(state, 'received'), 0)
  const complete: unknown = await (await sendPiece(gateway, 0, picture)).json()
  assert.equal(at(complete, 'file', 'kind'), 'photo')
})

test('uploads and files need the token', async (t) => {
  const gateway = await start(t)
  for (const path of ['/api/uploads', `/api/uploads/${id}`, '/web/files/pictures/x.png']) {
    const response = await fetch(new URL(path, gateway.current().url))
    assert.equal(response.status, 401, path)
  }
})

test('pictures of an API request reach the model, those of earlier messages too', async (t) => {
  const gateway = await start(t)
  const ask = (text: string, content: Buffer) => ({
    role: 'user',
    content: [
      { type: 'text', text },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${content.toString('base64')}` } },
    ],
  })
  const other = createPng({ seed: 5 })
  const messages = [ask('And this?', other), { role: 'assistant', content: 'A dog.' }, ask('What is it?', picture)]
  const response = await gateway.post('/v1/chat/completions', { messages })
  assert.equal(response.status, 200)
  assert.ok(await isShown(gateway, 0))
  assert.ok(JSON.stringify((await gateway.modelRequest(0)).body).includes(other.toString('base64')))
  const stored = JSON.stringify(rowsIn(gateway.home, 'select payload from inbox'))
  assert.ok(!stored.includes(base64.slice(0, 40)))
})
