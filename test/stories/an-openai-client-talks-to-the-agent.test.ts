import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, conversation, rowsIn } from './support.ts'

const user = (content: string) => ({ role: 'user', content })

async function complete(gateway: TestGateway, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await gateway.post('/v1/chat/completions', body, headers)
  const answer = await response.json()
  return {
    status: response.status,
    session: response.headers.get('x-hermes-session-id'),
    answer,
    text: at(answer, 'choices', 0, 'message', 'content'),
  }
}

test('without a session the transcript is the list of messages in the request', async (t) => {
  const gateway = await startTestGateway(t)
  const messages = [user('I am Ada'), { role: 'assistant', content: 'Hello Ada' }, user('who am I?')]
  const first = await complete(gateway, { messages })
  assert.equal(first.status, 200)
  assert.equal(first.text, 'You said: who am I?')
  assert.deepEqual(conversation(gateway.model.requests[0]), [
    'user: I am Ada',
    'assistant: Hello Ada',
    'user: who am I?',
  ])
  const second = await complete(gateway, { messages: [user('and now?')] })
  assert.notEqual(second.session, first.session)
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: and now?'])
})

test('a session named by the client continues, also after a restart', async (t) => {
  const gateway = await startTestGateway(t)
  const named = { 'x-hermes-session-id': 'my-project' }
  assert.equal((await complete(gateway, { messages: [user('first')] }, named)).session, 'my-project')
  await gateway.stop()
  await (await gateway.start()).initialConnectsDone()
  await complete(gateway, { messages: [user('second')] }, named)
  assert.deepEqual(conversation(gateway.model.requests[1]), [
    'user: first',
    'assistant: You said: first',
    'user: second',
  ])
})

test('a request repeated with its Idempotency-Key runs once and returns the same response', async (t) => {
  const gateway = await startTestGateway(t)
  const key = { 'idempotency-key': 'order-66' }
  const body = { messages: [user('charge the card')] }
  const [first, second] = await Promise.all([complete(gateway, body, key), complete(gateway, body, key)])
  const third = await complete(gateway, body, key)
  assert.deepEqual([first.text, second.text, third.text], Array(3).fill('You said: charge the card'))
  assert.equal(gateway.model.requestCount, 1)
  assert.equal(rowsIn(gateway.home, 'select seq from inbox').length, 1)
})

test('an Idempotency-Key applies to one session', async (t) => {
  const gateway = await startTestGateway(t)
  const inSession = (name: string, text: string) =>
    complete(gateway, { messages: [user(text)] }, { 'idempotency-key': 'order-66', 'x-hermes-session-id': name })
  assert.equal((await inSession('ada', 'a secret')).text, 'You said: a secret')
  assert.equal((await inSession('grace', 'good morning')).text, 'You said: good morning')
  assert.equal((await inSession('ada', 'a secret')).text, 'You said: a secret')
  assert.equal(gateway.model.requestCount, 2)
})

test('a stream sends the reply in chunks and ends with [DONE]', async (t) => {
  const gateway = await startTestGateway(t)
  const response = await gateway.post('/v1/chat/completions', { messages: [user('stream please')], stream: true })
  const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('data: '))
  assert.equal(events.at(-1), 'data: [DONE]')
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice(6)).choices[0].delta.content ?? '')
  assert.equal(chunks.join(''), 'You said: stream please')
})

test('a client that disconnects stops its turn if it named no session', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'one two three', hang: 'stream', hangAfter: 2 }] })
  const disconnect = new AbortController()
  const asked = gateway.http('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [user('hello')] }),
    signal: disconnect.signal,
  })
  const request = await gateway.modelRequest(0)
  disconnect.abort()
  await assert.rejects(asked, { name: 'AbortError' })
  assert.equal(await request.closed, true)
  await gateway.waitForEvent('agent:end')
  assert.equal(rowsIn(gateway.home, 'select state from turns')[0]?.['state'], 'stopped')
})

test('with a session the turn is completed and the reply is kept in the session', async (t) => {
  const held = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, { replies: [{ text: 'worth waiting for', gate: () => held.promise }] })
  const disconnect = new AbortController()
  const named = { 'x-hermes-session-id': 'patient' }
  const asked = gateway.http('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...named },
    body: JSON.stringify({ messages: [user('hello')] }),
    signal: disconnect.signal,
  })
  await gateway.modelRequest(0)
  disconnect.abort()
  await assert.rejects(asked, { name: 'AbortError' })
  held.resolve()
  const { context } = await gateway.waitForEvent('agent:end')
  assert.equal(context['response_full'], 'worth waiting for')
  await complete(gateway, { messages: [user('and?')] }, named)
  assert.deepEqual(conversation(gateway.model.requests[1]), [
    'user: hello',
    'assistant: worth waiting for',
    'user: and?',
  ])
})

test('a model failure is an API error that must not be retried', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ error: { status: 401 } }] })
  const response = await gateway.post('/v1/chat/completions', { messages: [user('hello')] })
  assert.equal(response.status, 502)
  assert.equal(response.headers.get('x-should-retry'), 'false')
  assert.equal(at(await response.json(), 'error', 'code'), 'provider/auth')
})

test('a request without the token is rejected', async (t) => {
  const gateway = await startTestGateway(t)
  const response = await fetch(`${gateway.current().url}/v1/chat/completions`, { method: 'POST', body: '{}' })
  assert.equal(response.status, 401)
  await response.text()
})

test('the variables of Hermes set the key and the origins of the API, and /health needs no key', async (t) => {
  const key = 'a-key-that-hermes-knew'
  const environment = { PATH: process.env['PATH'], API_SERVER_KEY: key, API_SERVER_CORS_ORIGINS: 'https://a.test' }
  const gateway = await startTestGateway(t, { gateway: { environment } })
  const { url } = gateway.current()
  assert.deepEqual(await (await fetch(`${url}/health`)).json(), { status: 'ok' })
  const headers = { authorization: `Bearer ${key}`, origin: 'https://a.test' }
  const models = await fetch(`${url}/v1/models`, { headers })
  assert.equal(models.status, 200)
  assert.equal(models.headers.get('access-control-allow-origin'), 'https://a.test')
  await models.text()
  const wrong = await fetch(`${url}/v1/models`, { headers: { authorization: 'Bearer something-else-here' } })
  assert.equal(wrong.status, 401)
  await wrong.text()
})
