/**
 * What a model thought goes back to it with the next request, to it alone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asArray, asRecord } from '../../src/lib/json.ts'
import { startAnthropicServer } from '../kit/servers/anthropic-server.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startTestGateway } from '../kit/start-gateway.ts'

const modes = [
  { provider: 'custom', start: startOpenAiServer, mark: '"reasoning_content":"first look"' },
  { provider: 'openai-responses', start: startOpenAiServer, mark: '"encrypted_content":"sealed-reasoning"' },
  { provider: 'anthropic', start: startAnthropicServer, mark: '"signature":"signed-thinking"' },
] as const

for (const { provider, start, mark } of modes)
  test(`${provider}: after a restart the model gets its reasoning back, and another model does not`, async (t) => {
    const server = await start()
    t.after(server.stop)
    const call = { name: 'todo', arguments: { items: [{ id: '1', content: 'think', status: 'pending' }] } }
    server.enqueue({ reasoning: 'first look', toolCalls: [call] }, { text: 'I have a plan.' })
    const config = { provider, base_url: server.baseUrl, api_key: 'k', model: 'thinker' }
    const gateway = await startTestGateway(t, { config })
    await gateway.say('plan this')
    await gateway.waitForReply('I have a plan.')
    await gateway.stop()
    await gateway.start()
    server.enqueue({ text: 'Still here.' })
    await gateway.say('go on')
    await gateway.waitForReply('Still here.')
    await gateway.stop()
    gateway.configure({ ...config, model: 'another' })
    await gateway.start()
    server.enqueue({ text: 'Hello.' })
    await gateway.say('and you?')
    await gateway.waitForReply('Hello.')
    const hasMark = server.requests.map(({ body }) => JSON.stringify(body).includes(mark))
    assert.deepEqual(hasMark, [false, true, true, false])
  })

test('a conversation goes on when the vendor no longer accepts its own reasoning', async (t) => {
  const server = await startAnthropicServer()
  t.after(server.stop)
  const call = { name: 'todo', arguments: { items: [{ id: '1', content: 'think', status: 'pending' }] } }
  server.enqueue({ reasoning: 'first look', toolCalls: [call] }, { text: 'I have a plan.' })
  const config = { provider: 'anthropic', base_url: server.baseUrl, api_key: 'k', model: 'thinker' }
  const gateway = await startTestGateway(t, { config })
  await gateway.say('plan this')
  await gateway.waitForReply('I have a plan.')
  const message =
    'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.'
  const body = { type: 'error', error: { type: 'invalid_request_error', message } }
  server.enqueue({ error: { status: 400, body } }, { toolCalls: [call] }, { text: 'Still here.' })
  await gateway.say('go on')
  await gateway.waitForReply('Still here.')
  const hasThinking = server.requests.map((request) => JSON.stringify(request.body).includes('signed-thinking'))
  assert.deepEqual(hasThinking, [false, true, true, false, false])
})

test('deepseek gets a reasoning with each response, also with those of another model', async (t) => {
  const server = await startOpenAiServer()
  t.after(server.stop)
  const call = { name: 'todo', arguments: { items: [{ id: '1', content: 'think', status: 'pending' }] } }
  server.enqueue(
    { reasoning: 'first look', toolCalls: [call] },
    { reasoning: 'second look', text: 'I have a plan.' },
    { text: 'Still here.' },
    { text: 'Hello.' },
  )
  const config = {
    provider: 'deepseek',
    base_url: '',
    providers: { deepseek: { base_url: server.baseUrl, api_key: 'k' } },
  }
  const gateway = await startTestGateway(t, { config: { ...config, model: 'deepseek-v4-pro' } })
  await gateway.say('plan this')
  await gateway.waitForReply('I have a plan.')
  await gateway.say('go on')
  await gateway.waitForReply('Still here.')
  await gateway.stop()
  gateway.configure({ ...config, model: 'deepseek-flash' })
  await gateway.start()
  await gateway.say('and you?')
  await gateway.waitForReply('Hello.')
  const reasonings = server.requests.map(({ body }) =>
    asArray(body['messages'])
      .map(asRecord)
      .filter(({ role }) => role === 'assistant')
      .map((message) => message['reasoning_content']),
  )
  assert.deepEqual(reasonings.slice(2), [
    ['first look', 'second look'],
    [' ', ' ', ' '],
  ])
})
