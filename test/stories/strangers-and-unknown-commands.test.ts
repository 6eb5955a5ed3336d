import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { rowsIn } from './support.ts'

test('an unknown slash command is answered with a notice and does not reach the model', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('/dance now')
  const { text } = await gateway.waitForReply('`/dance`')
  assert.equal(
    text,
    "Unknown command `/dance`. Type /commands to see what's available, or resend without the leading slash to send as a regular message.",
  )
  await gateway.say('/etc/hosts is a file')
  await gateway.waitForReply('You said: /etc/hosts is a file')
  assert.equal(gateway.model.requestCount, 1)
  const starts = gateway.events.filter(({ name }) => name === 'session:start')
  assert.equal(starts.length, 1)
})

test('messages of an unauthorised user are neither answered nor stored', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { platforms: { fake: { allow_from: ['friend'], unauthorized_dm_behavior: 'ignore' } } },
  })
  await gateway.say('let me in', { user: 'stranger', chat: 'his' })
  await gateway.say('/status', { user: 'stranger', chat: 'his' })
  await gateway.say('hello', { user: 'friend', chat: 'hers' })
  await gateway.waitForReply('You said: hello', 'hers')
  assert.deepEqual(gateway.replies('his'), [])
  assert.equal(gateway.model.requestCount, 1)
  await gateway.stop()
  const kept = rowsIn(gateway.home, 'select payload from inbox')
  assert.equal(kept.length, 1)
  assert.equal(rowsIn(gateway.home, 'select key from inbox_keys').length, 1)
})

test('without an allow list every user is refused', async (t) => {
  const gateway = await startTestGateway(t, { config: { platforms: { fake: { allow_from: undefined } } } })
  await gateway.say('hello?')
  await gateway.waitForLog({ event: 'inbox.refused' })
  assert.equal(gateway.model.requestCount, 0)
})
