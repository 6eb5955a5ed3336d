import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, rowsIn } from './support.ts'

/** Every route that reads a body, with a valid body. */
const posts: readonly { path: string; body: Readonly<Record<string, unknown>>; field: string }[] = [
  { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'x' }] }, field: 'messages' },
  { path: '/web/messages', body: { chat: 'page', id: 'message-1', text: 'x' }, field: 'text' },
  { path: '/web/stop', body: { chat: 'page' }, field: 'chat' },
  { path: '/cli/messages', body: { chat: 'terminal', id: 'one', text: 'x' }, field: 'text' },
  { path: '/cli/stop', body: { chat: 'terminal' }, field: 'chat' },
  { path: '/api/inbox/retry', body: { id: 1 }, field: 'id' },
  { path: '/api/inbox/drop', body: { id: 1 }, field: 'id' },
  { path: '/api/outbox/retry', body: { id: 1 }, field: 'id' },
  { path: '/api/outbox/drop', body: { id: 1 }, field: 'id' },
]

function text(value: unknown): string {
  return JSON.stringify(value)
}

/** Asserts a client error with a message. */
async function assertRejected(response: Response, what: string, status?: number): Promise<void> {
  const body = await response.json()
  assert.ok(response.status >= 400 && response.status < 500, `${what} was answered ${response.status}: ${text(body)}`)
  if (status !== undefined) assert.equal(response.status, status, what)
  const message = at(body, 'error', 'message')
  assert.ok(typeof message === 'string' && message.length > 5, `${what}: ${text(body)}`)
}

async function assertStillAnswers(gateway: TestGateway): Promise<void> {
  await gateway.say('still there?')
  await gateway.waitForReply('You said: still there?')
  const kept = rowsIn(gateway.home, 'select platform from inbox')
  assert.deepEqual(
    kept.map((row) => row['platform']),
    ['fake'],
  )
}

test('every route rejects JSON with a hundred thousand levels', async (t) => {
  const gateway = await startTestGateway(t)
  const deep = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000)
  for (const { path, body, field } of posts) {
    await assertRejected(await gateway.post(path, deep('[', ']')), `${path} as a list`)
    const nested = text({ ...body, [field]: 0 }).replace(':0', `:${deep('[', ']')}`)
    await assertRejected(await gateway.post(path, nested), `${path} in ${field}`)
    const objects = text({ ...body, [field]: 0 }).replace(':0', `:${deep('{"a":', '}').replace(':}', ':1}')}`)
    await assertRejected(await gateway.post(path, objects), `${path} with objects in ${field}`)
  }
  await assertStillAnswers(gateway)
})

test('every route rejects bodies that are not JSON objects and fields of wrong types', async (t) => {
  const gateway = await startTestGateway(t)
  for (const { path, field, body } of posts) {
    for (const wrong of ['', '{', 'null', '7', '"text"', '[]', '{"__proto__": {"chat": "x"}}']) {
      await assertRejected(await gateway.post(path, wrong), `${path} with ${wrong}`)
    }
    for (const value of [null, true, -1.5, {}, [], '']) {
      await assertRejected(
        await gateway.post(path, { ...body, [field]: value }),
        `${path} with ${field} ${text(value)}`,
      )
    }
  }
  await assertStillAnswers(gateway)
})

test('every route rejects bytes that are not UTF-8', async (t) => {
  const gateway = await startTestGateway(t)
  for (const { path, body } of posts) {
    const bytes = Buffer.concat([Buffer.from(text(body).slice(0, -2)), Buffer.from([0xff, 0xfe, 0xc0, 0x80])])
    const headers = { 'content-type': 'application/json' }
    await assertRejected(await gateway.http(path, { method: 'POST', headers, body: bytes }), path)
  }
  await assertStillAnswers(gateway)
})

test('ten megabytes are rejected with 413 and not stored', async (t) => {
  const gateway = await startTestGateway(t)
  const big = 'x'.repeat(10 * 1024 * 1024 - 1_000)
  const tooLong = 'x'.repeat(11 * 1024 * 1024)
  for (const { path, body } of [
    { path: '/web/messages', body: { chat: 'page', id: 'message-1', text: '' } },
    { path: '/cli/messages', body: { chat: 'terminal', id: 'one', text: '' } },
  ]) {
    await assertRejected(await gateway.post(path, { ...body, text: big }), path, 413)
    await assertRejected(await gateway.post(path, { ...body, text: tooLong }), path, 413)
  }
  const said = (content: string) => ({ messages: [{ role: 'user', content }] })
  await assertRejected(await gateway.post('/v1/chat/completions', said(big)), 'the API', 413)
  await assertRejected(await gateway.post('/v1/chat/completions', said(tooLong)), 'the API', 413)
  await assertStillAnswers(gateway)
})

test('unpaired surrogates become replacement characters', async (t) => {
  const gateway = await startTestGateway(t)
  const half = 'a\ud800b'
  await gateway.say(half)
  await gateway.waitForReply('You said: a\ufffdb')
  const sent = '{"messages": [{"role": "user", "content": "a\\ud800b"}]}'
  const answer = await gateway.post('/v1/chat/completions', sent)
  assert.equal(at(await answer.json(), 'choices', 0, 'message', 'content'), 'You said: a\ufffdb')
  await gateway.post('/web/messages', '{"chat": "page", "id": "message-1", "text": "a\\ud800b"}')
  await gateway.waitForEvent('agent:end', { platform: 'web', response: 'You said: a\ufffdb' })
})

test('special characters are passed through, and hidden ones become visible', async (t) => {
  const gateway = await startTestGateway(t)
  const odd = `'; drop table inbox; -- \u0000 \u202e \\ "\` \${HOME} <script>alert(1)</script> \ufeff👩‍👩‍👧`
  await gateway.say(odd)
  const visible = odd.replace('\0', '\\u0000').replace('\u202e', '\\u202e').replace('\ufeff', '\\ufeff')
  await gateway.waitForReply(`You said: ${visible}`)
})
