import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { conversation } from './support.ts'

test('a model that streams garbage is told as such, and the next message is answered', async (t) => {
  for (const body of ['data: {not json}\n\n', '<html>busy</html>', '\u0000\u0001\u0002', 'data: []\n\ndata: 7\n\n']) {
    const gateway = await startTestGateway(t, { replies: [{ raw: { body } }], config: { agent: { max_retries: 0 } } })
    await gateway.say('hello')
    const { text } = await gateway.waitForReply('Sorry')
    assert.match(text, /provider\/(bad-response|network)/)
    await gateway.say('better?')
    await gateway.waitForReply('better?')
  }
})

test('a stream that breaks in the middle is asked for again', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'half an answer', cutAfter: 2 }] })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  assert.ok(!gateway.replies().some((text) => text.includes('half')))
})

test('a model that never stops writing is cut off before it fills the memory', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ text: `${'x'.repeat(200_000)} end`, endAfter: 2, endless: true }],
    config: { agent: { max_retries: 0 } },
  })
  await gateway.say('hello')
  const { text } = await gateway.waitForReply('Sorry')
  assert.match(text, /provider\/bad-response/)
  await gateway.say('better?')
  await gateway.waitForReply('better?')
})

test('a model that falls silent is given up after model_timeout', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ text: 'one two three', hang: 'stream', hangAfter: 2 }],
    config: { agent: { max_retries: 0, model_timeout: 0.2 } },
  })
  await gateway.say('hello')
  const { text } = await gateway.waitForReply('Sorry')
  assert.match(text, /provider\/timeout.*model_timeout/s)
})

test('tool arguments that are not JSON are shown to the model, who may mend them', async (t) => {
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

test('a tool that does not exist is an error for the model alone', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ toolCalls: [{ name: 'launch_rocket', arguments: {} }] }, { text: 'There is no rocket.' }],
  })
  await gateway.say('launch')
  await gateway.waitForReply('There is no rocket.')
  assert.match(conversation(gateway.model.requests[1]).at(-1) ?? '', /launch_rocket/)
})

test('a model that asks for tools without end comes to one at its budget', async (t) => {
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

test('an empty answer is said to be one', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: '' }] })
  await gateway.say('hello')
  await gateway.waitForReply('The model returned an empty reply.')
})
