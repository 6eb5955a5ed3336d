import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { conversation } from './support.ts'

test('two messages share a session and are answered in order', async (t) => {
  const gateway = await startTestGateway(t)
  await Promise.all([gateway.say('first'), gateway.say('second')])
  await gateway.waitForReply('You said: second')
  assert.deepEqual(gateway.replies(), ['You said: first', 'You said: second'])
  assert.deepEqual(conversation(gateway.model.requests[1]), [
    'user: first',
    'assistant: You said: first',
    'user: second',
  ])
  const ends = gateway.events.filter(({ name }) => name === 'agent:end')
  assert.equal(new Set(ends.map(({ context }) => context['session_id'])).size, 1)
})

test('a session continues after a restart', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('before')
  await gateway.waitForReply('You said: before')
  await gateway.stop()
  await gateway.start()
  await gateway.say('after')
  await gateway.waitForReply('You said: after')
  assert.deepEqual(conversation(gateway.model.requests[1]), [
    'user: before',
    'assistant: You said: before',
    'user: after',
  ])
})

test('a message that is delivered twice is answered once', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('once', { id: 'same' })
  await gateway.say('once', { id: 'same' })
  await gateway.say('then')
  await gateway.waitForReply('You said: then')
  assert.deepEqual(gateway.replies(), ['You said: once', 'You said: then'])
})
