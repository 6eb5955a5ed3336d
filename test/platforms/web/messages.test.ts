/**
 * Requests of the page: messages and the end of a turn.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HermesError } from '#sdk'
import { errorCatalogue } from '../../../src/lib/error-catalogue.ts'
import { fieldsOf, posting, startGateway, target } from './support.ts'

const message = { chat: 'main', id: 'b3f1c2d4e5f6', text: 'Hello' }

async function errorOf(response: Response): Promise<{ code: unknown; message: string; hint: unknown }> {
  const error = fieldsOf(fieldsOf(await response.json())['error'])
  return { code: error['code'], message: String(error['message']), hint: error['hint'] }
}

test('a message is acknowledged when it is stored, and its author is the owner', async () => {
  const gateway = await startGateway()
  const answer = await gateway.request('/web/messages', posting(message))
  assert.equal(answer.status, 202)
  assert.deepEqual(await answer.json(), { seq: 1 })
  const [event] = gateway.accepted
  assert.deepEqual(event?.source, {
    platform: 'web',
    account: 'default',
    chatId: 'main',
    chatType: 'dm',
    userId: 'owner',
    messageId: message.id,
  })
  assert.equal(event?.text, 'Hello')
  assert.equal(event?.messageId, message.id)
  assert.equal(event?.messageType, 'text')
})

test('a message that is sent twice is accepted once', async () => {
  const gateway = await startGateway()
  await gateway.request('/web/messages', posting(message))
  const again = await gateway.request('/web/messages', posting(message))
  assert.equal(again.status, 202)
  assert.deepEqual(await again.json(), { seq: 1, duplicate: true })
  assert.equal(gateway.accepted.length, 1)
})

test('a slash command is accepted as a command', async () => {
  const gateway = await startGateway()
  await gateway.request('/web/messages', posting({ ...message, text: '/status' }))
  assert.equal(gateway.accepted[0]?.messageType, 'command')
})

test('every route of a chat requires the token', async () => {
  const gateway = await startGateway()
  const init = { ...posting(message), headers: { 'content-type': 'application/json' } }
  for (const path of ['/web/messages', '/web/stop']) assert.equal((await gateway.request(path, init)).status, 401)
  for (const path of ['/web/stream', '/web/history', '/web/commands']) {
    assert.equal((await gateway.request(`${path}?chat=main`)).status, 401)
  }
  assert.equal(gateway.accepted.length, 0)
})

const wrong: [string, unknown, RegExp][] = [
  ['no chat', { ...message, chat: undefined }, / chat: .*\b64\b/],
  ['a chat with a path', { ...message, chat: '../etc' }, / chat: .*"\.\.\/etc"/],
  ['no id', { ...message, id: 7 }, / id: .*\b64\b.* 7\b/],
  ['no text', { ...message, text: ['a'] }, / text: /],
  ['only blanks', { ...message, text: ' \n ' }, / text: .*" \\n "/],
  ['a list', [], / body: /],
]
for (const [what, body, expected] of wrong) {
  test(`a request with ${what} is rejected, and the error names the field`, async () => {
    const gateway = await startGateway()
    const answer = await gateway.request('/web/messages', posting(body))
    assert.equal(answer.status, 400)
    const error = await errorOf(answer)
    assert.equal(error.code, 'http/bad-request')
    assert.match(error.message, expected)
    assert.equal(gateway.accepted.length, 0)
  })
}

test('a body that is not JSON is refused', async () => {
  const gateway = await startGateway()
  const broken = await gateway.request('/web/messages', { ...posting(message), body: '{"chat":' })
  assert.equal(broken.status, 400)
  const headers = { ...posting(message).headers, 'content-type': 'text/plain' }
  assert.equal((await gateway.request('/web/messages', { ...posting(message), headers })).status, 400)
})

test('lone surrogates are replaced before a message is stored', async () => {
  const gateway = await startGateway()
  await gateway.request('/web/messages', posting({ ...message, text: 'a\ud83db' }))
  assert.equal(gateway.accepted[0]?.text, 'a\ufffdb')
})

test('a message that cannot be stored is not acknowledged, and the error has a hint', async () => {
  const gateway = await startGateway()
  gateway.failWith = new HermesError('store/full')
  const answer = await gateway.request('/web/messages', posting(message))
  assert.equal(answer.status, 507)
  const error = await errorOf(answer)
  assert.equal(error.code, 'store/full')
  assert.equal(error.hint, errorCatalogue['store/full'].hint)
})

test('an unexpected error is passed to the HTTP server', async () => {
  const gateway = await startGateway()
  gateway.failWith = new TypeError('broken')
  await assert.rejects(gateway.request('/web/messages', posting(message)), /broken/)
})

test('stop ends the running turn and keeps queued messages', async () => {
  const gateway = await startGateway()
  await gateway.request('/web/messages', posting(message))
  gateway.adapter.activity?.(target, { kind: 'turn-started', turnId: 't1' })
  await gateway.request('/web/messages', posting({ ...message, id: 'a-second-one' }))
  const answer = await gateway.request('/web/stop', posting({ chat: 'main' }))
  assert.equal(answer.status, 202)
  assert.deepEqual(gateway.stopped, [1])
  gateway.finish(1)
  await gateway.ended(1)
  await gateway.request('/web/stop', posting({ chat: 'main' }))
  assert.deepEqual(gateway.stopped, [1, 2])
})

test('stop ends a turn that started before this process', async () => {
  const gateway = await startGateway()
  gateway.adapter.activity?.(target, { kind: 'tool-started', turnId: 't0', callId: 'c', tool: 'terminal', label: '' })
  await gateway.request('/web/stop', posting({ chat: 'main' }))
  assert.equal(gateway.accepted[0]?.text, '/stop')
  assert.equal(gateway.accepted[0]?.messageType, 'command')
})

test('stop without a running turn does nothing', async () => {
  const gateway = await startGateway()
  const answer = await gateway.request('/web/stop', posting({ chat: 'main' }))
  assert.deepEqual(await answer.json(), { stopped: false })
  assert.equal(gateway.accepted.length, 0)
  assert.deepEqual(gateway.stopped, [])
})

test('a stopping gateway accepts no messages', async () => {
  const gateway = await startGateway()
  await gateway.adapter.disconnect()
  await gateway.adapter.disconnect()
  const answer = await gateway.request('/web/messages', posting(message))
  assert.equal(answer.status, 503)
  assert.equal((await errorOf(answer)).code, 'http/starting')
})
