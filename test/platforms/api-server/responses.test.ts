/**
 * The Responses API through the official client.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { isRecord } from '../../../src/lib/json.ts'
import { secret } from '../../http/support.ts'
import { startTestApi, type TestApi } from './support.ts'

/** Asks and plays the turn. */
async function ask(
  api: TestApi,
  body: Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model'>,
  text = 'ok',
  headers: Record<string, string> = {},
) {
  const asked = api.client.responses.create({ model: 'any-model', ...body }, { headers })
  const turn = await api.next()
  turn.end({ text })
  return { response: await asked, event: turn.event }
}

async function post(api: TestApi, body: unknown, path = '/v1/responses') {
  const response = await fetch(`${api.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const answer: unknown = await response.json()
  const error = isRecord(answer) && isRecord(answer['error']) ? answer['error'] : {}
  return { status: response.status, code: error['code'], param: error['param'], message: error['message'] }
}

async function collect(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('a response', () => {
  it('has the format that the official client expects, and can be read again', async (t) => {
    const api = await startTestApi(t)
    const { response, event } = await ask(
      api,
      { input: 'hello', instructions: 'Be brief.', metadata: { topic: 'greeting' } },
      'Hi there.',
    )
    assert.equal(event.text, 'hello')
    assert.deepEqual(event.seed, { instructions: 'Be brief.', messages: [] })
    assert.match(response.id, /^resp_[0-9a-f]{32}$/)
    assert.equal(response.output_text, 'Hi there.')
    assert.equal(response.status, 'completed')
    assert.equal(response.model, 'any-model')
    assert.deepEqual(response.metadata, { topic: 'greeting' })
    assert.equal(response.usage?.total_tokens, 15)
    const again = await api.client.responses.retrieve(response.id)
    assert.equal(again.output_text, 'Hi there.')
    assert.deepEqual(again.output, response.output)
  })

  it('can be deleted', async (t) => {
    const api = await startTestApi(t)
    const { response } = await ask(api, { input: 'hello' })
    await api.client.responses.delete(response.id)
    await assert.rejects(api.client.responses.retrieve(response.id), { status: 404, code: 'response_not_found' })
    await assert.rejects(api.client.responses.delete(response.id), { status: 404 })
  })

  it('cannot be read or continued with store: false', async (t) => {
    const api = await startTestApi(t)
    const { response } = await ask(api, { input: 'hello', store: false })
    await assert.rejects(api.client.responses.retrieve(response.id), { status: 404 })
    const next = api.client.responses.create({ model: 'm', input: 'and?', previous_response_id: response.id })
    await assert.rejects(next, { status: 400, code: 'previous_response_not_found' })
  })

  it('shows the state of a turn that runs', async (t) => {
    const api = await startTestApi(t)
    const stream = await api.client.responses.create({ model: 'm', input: 'hello', stream: true })
    const turn = await api.next()
    const iterator = stream[Symbol.asyncIterator]()
    const first = await iterator.next()
    assert.ok(!first.done && first.value.type === 'response.created')
    const { id } = first.value.response
    assert.equal((await api.client.responses.retrieve(id)).status, 'in_progress')
    const next = api.client.responses.create({ model: 'm', input: 'and?', previous_response_id: id })
    await assert.rejects(next, { status: 409, code: 'response_in_progress' })
    turn.end()
    while (!(await iterator.next()).done);
    assert.equal((await api.client.responses.retrieve(id)).status, 'completed')
  })

  it('that the model could not complete says why', async (t) => {
    const api = await startTestApi(t)
    const asked = api.client.responses.create({ model: 'm', input: 'hello' })
    const cut = await api.next()
    cut.end({ text: 'Once upon', cutOff: 'length' })
    const { status, incomplete_details, id } = await asked
    assert.deepEqual([status, incomplete_details], ['incomplete', { reason: 'max_output_tokens' }])
    assert.equal((await api.client.responses.retrieve(id)).status, 'incomplete')
    const failing = api.client.responses.create({ model: 'm', input: 'hello' })
    const failed = await api.next()
    failed.end({ status: 'failed', text: 'No credit.', errorCode: 'provider/auth' })
    await assert.rejects(failing, { status: 502, code: 'provider/auth' })
  })
})

describe('a conversation of responses', () => {
  it('continues in the session of the previous response', async (t) => {
    const api = await startTestApi(t)
    const first = await ask(api, { input: 'I am Ada', instructions: 'Be brief.' }, 'Hello Ada')
    const second = await ask(api, { input: 'who am I?', previous_response_id: first.response.id }, 'Ada')
    assert.equal(second.event.source.chatId, first.event.source.chatId)
    assert.equal(second.response.previous_response_id, first.response.id)
    assert.equal(second.response.instructions, 'Be brief.')
  })

  it('that is continued twice at the same response branches with its texts', async (t) => {
    const api = await startTestApi(t)
    const first = await ask(api, { input: 'one' }, '1')
    const second = await ask(api, { input: 'two', previous_response_id: first.response.id }, '2')
    const third = await ask(api, { input: 'three', previous_response_id: second.response.id }, '3')
    const branch = await ask(api, { input: 'other', previous_response_id: second.response.id })
    assert.equal(third.event.source.chatId, first.event.source.chatId)
    assert.notEqual(branch.event.source.chatId, first.event.source.chatId)
    assert.deepEqual(branch.event.seed?.messages, [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: '1' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: '2' },
    ])
  })

  it('continues after a request that the gateway did not accept', async (t) => {
    const api = await startTestApi(t)
    const first = await ask(api, { input: 'one' })
    const body = { model: 'm', input: 'two', previous_response_id: first.response.id }
    api.refuseWith({ status: 'refused', reason: 'not today' })
    await assert.rejects(api.client.responses.create(body), { status: 403 })
    const second = await ask(api, body)
    assert.equal(second.event.source.chatId, first.event.source.chatId)
  })

  it('gets new instructions in a new session with the same texts', async (t) => {
    const api = await startTestApi(t)
    const first = await ask(api, { input: 'one', instructions: 'Be brief.' }, '1')
    const body = { input: 'two', previous_response_id: first.response.id }
    const second = await ask(api, { ...body, instructions: 'Be polite.' })
    assert.notEqual(second.event.source.chatId, first.event.source.chatId)
    assert.deepEqual(second.event.seed, {
      instructions: 'Be polite.',
      messages: [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: '1' },
      ],
    })
  })

  it('may have a name, which is that of its session', async (t) => {
    const api = await startTestApi(t)
    const byName = await ask(api, { input: 'one', conversation: 'garden' })
    const byObject = await ask(api, { input: 'two', conversation: { id: 'garden' } })
    const byHeader = await ask(api, { input: 'three' }, 'ok', {
      'x-hermes-session-id': 'garden',
      'x-hermes-session-key': 'user:7',
    })
    assert.deepEqual(
      [byName, byObject, byHeader].map(({ event }) => event.source.chatId),
      ['garden', 'garden', 'garden'],
    )
    assert.deepEqual(byName.response.conversation, { id: 'garden' })
    assert.equal(byHeader.event.metadata?.['session_key'], 'user:7')
  })

  it('accepts the items of earlier answers, with their tool calls', async (t) => {
    const api = await startTestApi(t)
    const { event } = await ask(api, {
      input: [
        { role: 'developer', content: 'Be brief.' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"of":"Ulm"}' },
        { type: 'function_call', call_id: 'c2', name: 'weather', arguments: '{"of":"Bonn"}' },
        { type: 'function_call_output', call_id: 'c1', output: 'sun' },
        { type: 'function_call_output', call_id: 'c2', output: 'rain' },
        { role: 'assistant', content: 'Sun and rain.' },
        { role: 'user', content: 'Thanks' },
      ],
    })
    assert.equal(event.text, 'Thanks')
    assert.equal(event.seed?.instructions, 'Be brief.')
    assert.deepEqual(
      event.seed?.messages.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'tool', 'assistant'],
    )
  })
})

it('a response that is asked for twice with an Idempotency-Key is one response', async (t) => {
  const api = await startTestApi(t)
  const headers = { 'idempotency-key': 'order-66' }
  const { response, event } = await ask(api, { input: 'charge the card' }, 'done', headers)
  const again = await api.client.responses.create({ model: 'm', input: 'charge the card' }, { headers })
  assert.equal(again.id, response.id)
  assert.equal(again.output_text, 'done')
  const continued = { previous_response_id: response.id }
  const next = { 'idempotency-key': 'order-67' }
  const second = await ask(api, { input: 'and now?', ...continued }, 'more', next)
  const repeated = await api.client.responses.create({ model: 'm', input: 'and now?', ...continued }, { headers: next })
  assert.equal(repeated.id, second.response.id)
  assert.equal(second.event.source.chatId, event.source.chatId)
})

describe('a streamed response', () => {
  it('sends the typed events in their order with sequence numbers', async (t) => {
    const api = await startTestApi(t)
    const stream = await api.client.responses.create({ model: 'm', input: 'hello', stream: true })
    const turn = await api.next()
    const events = collect(stream)
    await turn.draft('Hi')
    turn.end({ text: 'Hi there.' })
    const all = await events
    assert.deepEqual(
      all.map(({ sequence_number }) => sequence_number),
      all.map((_, index) => index),
    )
    const types = all.map(({ type }) => type)
    assert.deepEqual(
      types.filter((type, index) => type !== types[index - 1]),
      [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ],
    )
    const text = all.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
    assert.equal(text, 'Hi there.')
  })

  it('is assembled by the helper of the official client', async (t) => {
    const api = await startTestApi(t)
    const stream = api.client.responses.stream({ model: 'm', input: 'hello' })
    const turn = await api.next()
    await turn.draft('I look')
    await turn.interim('I look it up.')
    await turn.draft('It is')
    turn.end({ text: 'It is noon.' })
    const final = await stream.finalResponse()
    assert.deepEqual(
      final.output.map((item) => (item.type === 'message' ? [item.phase, item.content.length] : item.type)),
      [
        ['commentary', 1],
        ['final_answer', 1],
      ],
    )
    assert.equal(final.output_text, 'I look it up.It is noon.')
  })

  it('ends with response.failed when the turn failed', async (t) => {
    const api = await startTestApi(t)
    const stream = await api.client.responses.create({ model: 'm', input: 'hello', stream: true })
    const turn = await api.next()
    turn.end({ status: 'failed', text: 'No credit.', errorCode: 'provider/auth' })
    const last = (await collect(stream)).at(-1)
    assert.ok(last?.type === 'response.failed')
    assert.deepEqual(last.response.error, { code: 'server_error', message: 'No credit.' })
    assert.equal((await api.client.responses.retrieve(last.response.id)).status, 'failed')
  })

  it('stops its turn when the client disconnects, unless it named a session', async (t) => {
    const api = await startTestApi(t)
    const named = await api.client.responses.create({ model: 'm', input: 'a', conversation: 'kept', stream: true })
    await api.next()
    named.controller.abort()
    const stream = await api.client.responses.create({ model: 'm', input: 'b', stream: true })
    const { seq } = await api.next()
    stream.controller.abort()
    assert.equal(await api.nextStop(), seq)
    assert.deepEqual(api.stops, [seq])
  })
})

const refused: readonly { readonly name: string; readonly body: unknown; readonly param: string | null }[] = [
  { name: 'no input', body: {}, param: 'input' },
  { name: 'an empty text', body: { input: ' ' }, param: 'input' },
  { name: 'an empty list', body: { input: [] }, param: 'input' },
  { name: 'an item that is no object', body: { input: ['hi'] }, param: 'input[0]' },
  { name: 'an unknown item', body: { input: [{ type: 'mcp_call' }] }, param: 'input[0].type' },
  { name: 'an unknown role', body: { input: [{ role: 'king', content: 'hi' }] }, param: 'input[0].role' },
  { name: 'an answer at the end', body: { input: [{ role: 'assistant', content: 'hi' }] }, param: 'input' },
  {
    name: 'a file',
    body: { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
    param: 'input[0].content[0].type',
  },
  {
    name: 'a picture by file id',
    body: { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
    param: 'input[0].content[0].image_url',
  },
  {
    name: 'a result without its call',
    body: { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] },
    param: 'input[0].tool_call_id',
  },
  { name: 'instructions that are no text', body: { input: 'a', instructions: 7 }, param: 'instructions' },
  { name: 'stream that is no boolean', body: { input: 'a', stream: 'yes' }, param: 'stream' },
  { name: 'store that is no boolean', body: { input: 'a', store: 1 }, param: 'store' },
  { name: 'metadata that is no object', body: { input: 'a', metadata: [] }, param: 'metadata' },
  { name: 'metadata that is no text', body: { input: 'a', metadata: { a: 1 } }, param: 'metadata.a' },
  { name: 'a conversation without a name', body: { input: 'a', conversation: {} }, param: 'conversation.id' },
  { name: 'a conversation with a strange name', body: { input: 'a', conversation: 'a b' }, param: 'conversation' },
  {
    name: 'a conversation and a previous response',
    body: { input: 'a', conversation: 'a', previous_response_id: 'resp_1' },
    param: 'previous_response_id',
  },
  {
    name: 'an unknown previous response',
    body: { input: 'a', previous_response_id: 'resp_1' },
    param: 'previous_response_id',
  },
  { name: 'a background response', body: { input: 'a', background: true }, param: 'background' },
  { name: 'a stored prompt', body: { input: 'a', prompt: { id: 'p' } }, param: 'prompt' },
  { name: 'a JSON schema', body: { input: 'a', text: { format: { type: 'json_schema' } } }, param: 'text.format' },
  { name: 'a forced tool call', body: { input: 'a', tool_choice: 'required' }, param: 'tool_choice' },
  { name: 'JSON that is broken', body: '{"input"', param: null },
  { name: 'a list as body', body: [], param: null },
]

it('a response is refused with the name of the invalid field', async (t) => {
  const api = await startTestApi(t)
  for (const { name, body, param } of refused) {
    const answer = await post(api, body)
    assert.deepEqual([answer.status, answer.param], [400, param], name)
    assert.equal(typeof answer.message, 'string', name)
  }
})

it('embeddings are refused with a reason', async (t) => {
  const api = await startTestApi(t)
  const embedded = api.client.embeddings.create({ model: 'm', input: 'hello' })
  await assert.rejects(embedded, { status: 501, code: 'embeddings_not_supported' })
})

it('every route that the capabilities name exists, and every feature is a plain statement', async (t) => {
  const api = await startTestApi(t)
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const answer: unknown = await (await fetch(`${api.url}/v1/capabilities`, { headers })).json()
  assert.ok(isRecord(answer) && isRecord(answer['features']) && isRecord(answer['endpoints']))
  assert.equal(answer['object'], 'hermes.api_server.capabilities')
  const { features } = answer
  assert.deepEqual([features['run_approval_response'], features['client_tools']], [true, false])
  assert.ok(Object.values(features).every((value) => typeof value === 'boolean' || typeof value === 'string'))
  const endpoints = Object.entries(answer['endpoints'])
  assert.ok(endpoints.length > 10)
  for (const [name, endpoint] of endpoints) {
    assert.ok(isRecord(endpoint))
    const path = String(endpoint['path']).replace(/\{\w+\}/, 'run_0')
    const method = String(endpoint['method'])
    const response = await fetch(`${api.url}${path}`, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) })
    // A route refuses the empty body, or does not know the id. A path without a route has another code.
    assert.ok([200, 400, 404].includes(response.status), name)
    assert.doesNotMatch(await response.text(), /http\/not-found/, name)
  }
})
