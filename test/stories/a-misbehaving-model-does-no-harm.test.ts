import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, conversation } from './support.ts'

test('an invalid stream is reported, and the next message is answered', async (t) => {
  for (const body of ['data: {not json}\n\n', '<html>busy</html>', '\u0000\u0001\u0002', 'data: []\n\ndata: 7\n\n']) {
    const gateway = await startTestGateway(t, { replies: [{ raw: { body } }], config: { agent: { max_retries: 0 } } })
    await gateway.say('hello')
    const { text } = await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
    assert.match(text, /provider\/(bad-response|network)/)
    await gateway.say('better?')
    await gateway.waitForReply('better?')
  }
})

test('a request whose stream breaks is repeated', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'half an answer', cutAfter: 2 }] })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  assert.ok(!gateway.replies().some((text) => text.includes('half')))
})

test('an endless response is aborted before it fills the memory', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ text: `${'x'.repeat(200_000)} end`, endAfter: 2, endless: true }],
    config: { agent: { max_retries: 0 } },
  })
  await gateway.say('hello')
  const { text } = await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
  assert.match(text, /provider\/bad-response/)
  await gateway.say('better?')
  await gateway.waitForReply('better?')
})

test('a silent model times out after model_timeout', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ text: 'one two three', hang: 'stream', hangAfter: 2 }],
    config: { agent: { max_retries: 0, model_timeout: 0.2 } },
  })
  await gateway.say('hello')
  const { text } = await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
  assert.match(text, /provider\/timeout.*model_timeout/s)
})

test('invalid tool arguments are returned to the model as an error', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [
      { toolCalls: [{ name: 'write_file', arguments: '{"path": "a.txt", "content": ' }] },
      { toolCalls: [{ name: 'terminal', arguments: '"not an object"' }] },
      { text: 'I give up.' },
    ],
  })
  await gateway.say('write')
  await gateway.waitForReply('I give up.')
  const [, second, third] = gateway.model.requests
  assert.match(conversation(second).at(-1) ?? '', /^tool: \{"error":/)
  assert.match(conversation(third).at(-1) ?? '', /^tool: \{"error":/)
})

test('a call of an unknown tool is returned to the model as an error', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ toolCalls: [{ name: 'launch_rocket', arguments: {} }] }, { text: 'There is no rocket.' }],
  })
  await gateway.say('launch')
  await gateway.waitForReply('There is no rocket.')
  assert.match(conversation(gateway.model.requests[1]).at(-1) ?? '', /launch_rocket/)
})

test('a model that keeps calling tools must reply at its iteration limit', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { max_iterations: 3 },
    model: ({ body }) =>
      JSON.stringify(body['messages']).includes('budget of steps')
        ? { text: 'This is how far I came.' }
        : { toolCalls: [{ name: 'todo', arguments: {} }] },
  })
  await gateway.say('go on for ever')
  await gateway.waitForReply('This is how far I came.')
  assert.equal(gateway.model.requestCount, 4)
})

for (const text of ['', 'One moment.']) {
  test(`a model without an answer at its iteration limit fails with that limit, after the text “${text}”`, async (t) => {
    const gateway = await startTestGateway(t, {
      config: { max_iterations: 3 },
      model: ({ body }) => ({
        text: JSON.stringify(body['messages']).includes('budget of steps') ? '' : text,
        toolCalls: [{ name: 'todo', arguments: {} }],
      }),
    })
    await gateway.say('go on for ever')
    await gateway.waitForReply(/\(agent\/max-iterations\).* 3\D/)
    assert.equal(gateway.model.requestCount, 4)
  })
}

test('a model that keeps returning empty replies is reported', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ text: '' }, { text: '' }, { text: '' }],
    config: { agent: { retry_window: 1 } },
  })
  await gateway.say('hello')
  await gateway.waitForReply('The model returned an empty reply.')
})

test('a program gets an error, not an answer, when the model keeps returning empty replies', async (t) => {
  const gateway = await startTestGateway(t, {
    model: () => ({ text: '' }),
    config: { agent: { retry_window: 0.1 } },
  })
  const messages = [{ role: 'user', content: 'hello' }]
  const response = await gateway.post('/v1/chat/completions', { model: 'any', messages })
  assert.equal(response.status, 502)
  assert.equal(at(await response.json(), 'error', 'code'), 'provider/bad-response')
})
