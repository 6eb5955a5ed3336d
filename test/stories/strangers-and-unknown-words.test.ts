import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { rowsIn } from './support.ts'

test('a slash word nobody knows is answered with a notice and never reaches the model', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('/dance now')
  const { text } = await gateway.waitForReply('Unknown command')
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

test('a stranger is not answered and nothing of what he wrote is kept', async (t) => {
  const gateway = await startTestGateway(t, { config: { platforms: { fake: { allow_from: ['friend'] } } } })
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

test('without an allow list nobody is let in', async (t) => {
  const gateway = await startTestGateway(t, { config: { platforms: { fake: { allow_from: undefined } } } })
  await gateway.say('hello?')
  await gateway.waitForLog('message refused')
  assert.equal(gateway.model.requestCount, 0)
})
