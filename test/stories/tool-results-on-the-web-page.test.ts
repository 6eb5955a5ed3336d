/**
 * What tools did, between the page and the whole gateway.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { createLineReader } from '../platforms/web/support.ts'
import { at, terminalCall } from './support.ts'

test('a page that is opened after a restart shows what a command did, and only in its chat', async (t) => {
  const gateway = await startTestGateway(t)
  gateway.model.enqueue(terminalCall('printf "one\\ntwo\\n"; exit 3'), { text: 'It failed.' })
  const page = createLineReader(await gateway.http('/web/stream?chat=main'))
  await gateway.post('/web/messages', { chat: 'main', id: 'message-0001', text: 'run it' })
  let live = await page.until('tool')
  while (live['state'] === 'running') live = await page.until('tool')
  assert.equal(live['summary'], 'exit 3, one (2 lines)')
  let ended = await page.until('turn')
  while (ended['state'] === 'running') ended = await page.until('turn')
  await page.close()
  await gateway.stop()
  await (await gateway.start()).initialConnectsDone()

  const again = createLineReader(await gateway.http('/web/stream?chat=main'))
  t.after(() => again.close().catch(() => undefined))
  const { turnId, callId, state, label, summary } = await again.until('tool')
  assert.deepEqual([state, label, summary], ['done', live['label'], live['summary']])
  const address = (chat: string) =>
    `/web/tool?chat=${chat}&turn=${String(turnId)}&call=${encodeURIComponent(String(callId))}`
  const view: unknown = await (await gateway.http(address('main'))).json()
  assert.deepEqual(
    ['kind', 'command', 'output', 'exitCode'].map((field) => at(view, 'parts', 0, field)),
    ['command', 'printf "one\\ntwo\\n"; exit 3', 'one\ntwo', 3],
  )
  assert.equal((await gateway.http(address('other'))).status, 404)
})
