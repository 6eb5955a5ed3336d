import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'

test('two messages make one session and are answered in the order they were written', async (t) => {
  const gateway = await startTestGateway(t)
  await Promise.all([gateway.say('first'), gateway.say('second')])
  await gateway.reply('You said: second')
  assert.deepEqual(gateway.replies(), ['You said: first', 'You said: second'])
  const sent = gateway.model.requests.map(({ body }) => body['messages'])
  assert.deepEqual(conversation(sent[1]), ['user: first', 'assistant: You said: first', 'user: second'])
  const sessions = new Set(
    gateway.events.filter(({ name }) => name === 'agent:end').map(({ context }) => context['session_id']),
  )
  assert.equal(sessions.size, 1)
})

/** The request without its system prompt, one line a message. */
function conversation(messages: unknown): string[] {
  assert.ok(Array.isArray(messages))
  return messages.slice(1).map(({ role, content }) => `${role}: ${content}`)
}
