/**
 * Chat completions through the official client, answered whole.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import OpenAI from 'openai'
import { HermesError } from '../../../src/lib/errors.ts'
import { startTestApi, type TestApi } from './support.ts'

const hello = { model: 'any-model', messages: [{ role: 'user' as const, content: 'hello' }] }
const session = (id: string) => ({ headers: { 'x-hermes-session-id': id } })

/** Lets one more client hang up; once that is noticed, everything before it has been noticed, too. Gives its turn. */
async function stopsUpToNow(api: TestApi): Promise<number[]> {
  const client = new AbortController()
  const asked = api.post(hello, { signal: client.signal })
  const { seq } = await api.next()
  client.abort()
  await assert.rejects(asked)
  await api.nextStop()
  return [seq]
}

describe('a completion', () => {
  it('has the format that the official client expects', async (t) => {
    const api = await startTestApi(t)
    const asked = api.client.chat.completions.create(hello)
    const turn = await api.next()
    turn.end({ text: 'Hi there.' })
    const { _request_id, ...completion } = await asked
    assert.deepEqual(completion, {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_800_000_000,
      model: 'any-model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi there.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
    })
  })

  it('starts a new session, and a leading slash is plain text', async (t) => {
    const api = await startTestApi(t)
    const messages = [
      { role: 'system' as const, content: 'Be brief.' },
      { role: 'user' as const, content: 'one' },
      { role: 'assistant' as const, content: 'two' },
      { role: 'user' as const, content: '/stop' },
    ]
    const asked = api.client.chat.completions.create({ model: 'm', messages }).withResponse()
    const { event, end } = await api.next()
    end()
    const { response } = await asked
    const { chatId } = event.source
    assert.match(chatId, /^[0-9a-f-]{36}$/)
    assert.equal(response.headers.get('x-hermes-session-id'), chatId)
    assert.deepEqual(event.source, {
      platform: 'api_server',
      account: 'default',
      chatId,
      chatType: 'dm',
      userId: 'api',
    })
    assert.equal(event.text, '/stop')
    assert.equal(event.allowGatewayControl, false)
    assert.deepEqual(event.seed, {
      instructions: 'Be brief.',
      messages: [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
      ],
    })
    const again = api.client.chat.completions.create(hello)
    const second = await api.next()
    second.end()
    await again
    assert.notEqual(second.event.source.chatId, chatId)
  })

  it('continues the session that the client names', async (t) => {
    const api = await startTestApi(t)
    const asked = api.client.chat.completions.create(hello, session('kitchen:1')).withResponse()
    const turn = await api.next()
    assert.equal(turn.event.source.chatId, 'kitchen:1')
    turn.end()
    assert.equal((await asked).response.headers.get('x-hermes-session-id'), 'kitchen:1')
  })

  it('with an idempotency key runs once, however often it is requested', async (t) => {
    const api = await startTestApi(t)
    const header = { headers: { 'idempotency-key': 'order-1' } }
    const first = api.post(hello, header)
    const turn = await api.next()
    const second = api.post(hello, header)
    turn.end({ text: 'once' })
    const answers = await Promise.all([first, second, api.post(hello, header)])
    const bodies = await Promise.all(answers.map((answer) => answer.text()))
    assert.equal(new Set(bodies).size, 1)
    assert.match(bodies[0] ?? '', /"content":"once"/)
    assert.equal(new Set(answers.map((answer) => answer.headers.get('x-hermes-session-id'))).size, 1)
    const other = api.post(hello, { headers: { 'idempotency-key': 'order-2' } })
    const next = await api.next()
    assert.equal(next.seq, 2)
    next.end()
    await other
  })
})

describe('a client that disconnects', () => {
  it('stops its turn when it named no session', async (t) => {
    const api = await startTestApi(t)
    const client = new AbortController()
    const asked = api.post(hello, { signal: client.signal })
    const { seq } = await api.next()
    client.abort()
    await assert.rejects(asked)
    assert.equal(await api.nextStop(), seq)
  })

  it('does not stop the turn when it named a session', async (t) => {
    const api = await startTestApi(t)
    const client = new AbortController()
    const asked = api.post(hello, { signal: client.signal, headers: { 'x-hermes-session-id': 's' } })
    await api.next()
    client.abort()
    await assert.rejects(asked)
    assert.deepEqual(api.stops, await stopsUpToNow(api))
  })

  it('does not stop a turn that another client with the same key still waits for', async (t) => {
    const api = await startTestApi(t)
    const header = { 'idempotency-key': 'k' }
    const first = new AbortController()
    const aborted = api.post(hello, { signal: first.signal, headers: header })
    const turn = await api.next()
    const second = await api.post({ ...hello, stream: true }, { headers: header })
    first.abort()
    await assert.rejects(aborted)
    assert.deepEqual(api.stops, await stopsUpToNow(api))
    turn.end({ text: 'for you' })
    assert.match(await second.text(), /for you/)
  })
})

describe('errors', () => {
  it('a failed turn is a 502 that the client does not retry', async (t) => {
    const api = await startTestApi(t)
    const client = api.client.withOptions({ maxRetries: 2 })
    const asked = client.chat.completions.create(hello, session('s'))
    const turn = await api.next()
    turn.end({ status: 'failed', text: 'The model said no.', errorCode: 'provider/auth' })
    await assert.rejects(asked, (error) => {
      assert.ok(error instanceof OpenAI.APIError)
      assert.equal(error.status, 502)
      assert.equal(error.type, 'agent_incomplete')
      assert.equal(error.code, 'provider/auth')
      assert.match(error.message, /The model said no\./)
      assert.equal(error.headers?.get('x-hermes-session-id'), 's')
      return true
    })
  })

  it('a stopped turn is a 502, too', async (t) => {
    const api = await startTestApi(t)
    const asked = api.client.chat.completions.create(hello)
    const turn = await api.next()
    turn.end({ status: 'stopped', text: '' })
    await assert.rejects(asked, { status: 502, code: 'agent/stopped' })
  })

  it('an invalid request is a BadRequestError that names the field', async (t) => {
    const api = await startTestApi(t)
    const messages = [{ role: 'user' as const, content: [{ type: 'image_url' as const, image_url: { url: 'x' } }] }]
    await assert.rejects(api.client.chat.completions.create({ model: 'm', messages }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError)
      assert.equal(error.param, 'messages[0].content[0].image_url.url')
      assert.equal(error.code, 'invalid_image_url')
      return true
    })
  })

  it('broken JSON and invalid UTF-8 are a 400', async (t) => {
    const api = await startTestApi(t)
    for (const body of ['{"messages": [', Buffer.from([0xc3, 0x28])]) {
      const response = await api.post(body)
      assert.equal(response.status, 400)
      assert.match(await response.text(), /"code":"invalid_json"/)
    }
  })

  it('a wrong key is an AuthenticationError', async (t) => {
    const api = await startTestApi(t)
    const stranger = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: 'wrong', maxRetries: 0 })
    await assert.rejects(stranger.chat.completions.create(hello), OpenAI.AuthenticationError)
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError)
  })

  it('a refused sender, a message that is too large and a full disk have their own status', async (t) => {
    const api = await startTestApi(t)
    const refusals = [
      [{ status: 'refused', reason: 'not on the list' }, 403, /not on the list/],
      [new HermesError('inbox/too-large', 'It has 2 bytes.'), 413, /inbox\.max_message_kb/],
      [new HermesError('store/full'), 503, /"code":"store\/full"/],
      [new Error('a bug'), 500, /http\/internal/],
    ] as const
    for (const [refusal, status, expected] of refusals) {
      api.refuseWith(refusal)
      const response = await api.post(hello)
      assert.equal(response.status, status)
      assert.match(await response.text(), expected)
    }
    assert.equal(api.log.filter(({ level }) => level === 'error').length, 1)
  })

  it('too many concurrent requests are a 429 with a retry delay', async (t) => {
    const api = await startTestApi(t, { maxConcurrent: 2 })
    const first = api.post(hello)
    const second = api.post({ ...hello, stream: true })
    const turns = [await api.next(), await api.next()]
    const third = await api.post(hello)
    assert.equal(third.status, 429)
    assert.equal(third.headers.get('retry-after'), '1')
    assert.match(await third.text(), /"code":"rate_limit_exceeded"/)
    for (const turn of turns) turn.end()
    for (const answer of await Promise.all([first, second])) await answer.text()
    const fourth = api.post(hello)
    const turn = await api.next()
    turn.end()
    assert.equal((await fourth).status, 200)
  })

  it('a stopping gateway ends waiting requests with an error and keeps the turn', async (t) => {
    const api = await startTestApi(t)
    const asked = api.post(hello)
    await api.next()
    await api.adapter.disconnect()
    const response = await asked
    assert.equal(response.status, 503)
    assert.equal(response.headers.get('retry-after'), '1')
    assert.equal((await api.post(hello)).status, 503)
    assert.deepEqual(api.stops, [])
    await api.adapter.connect(new AbortController().signal)
    const again = api.post(hello)
    const turn = await api.next()
    turn.end()
    assert.equal((await again).status, 200)
  })

  it('a reply without a waiting client is stored in the session', async (t) => {
    const { adapter } = await startTestApi(t)
    const target = { platform: 'api_server', account: 'default', chatId: 'gone' }
    const message = { deliveryId: 'd', target, text: 'late', kind: 'reply' as const, turnId: 't', replyTo: 'api:x' }
    const { signal } = new AbortController()
    assert.deepEqual(await adapter.send(message, signal), { success: true, messageId: 'd' })
    assert.deepEqual(await adapter.edit?.('d', message, true, signal), { success: true, messageId: 'd' })
  })
})

describe('the models', () => {
  it('contain the configured model', async (t) => {
    const { client } = await startTestApi(t)
    const { data } = await client.models.list()
    assert.deepEqual(data, [{ id: 'test-model', object: 'model', created: 1_800_000_000, owned_by: 'hermes-gateway' }])
    assert.equal((await client.models.retrieve('test-model')).id, 'test-model')
    await assert.rejects(client.models.retrieve('gpt-4'), OpenAI.NotFoundError)
  })
})
