import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'

test('a failing listener does not affect the reply or other listeners', async (t) => {
  const received: string[] = []
  const failing = () => {
    throw new Error('the listener is broken')
  }
  const gateway = await startTestGateway(t, {
    replies: [{ text: 'the answer' }],
    gateway: { listeners: [failing, (name) => void received.push(name)] },
  })
  await gateway.say('hello')
  await gateway.waitForReply('the answer')
  await gateway.stop()
  const turns = received.filter((name) => !name.startsWith('message:'))
  assert.deepEqual(turns, [
    'gateway:startup',
    'session:start',
    'agent:start',
    'agent:step',
    'agent:end',
    'gateway:shutdown',
  ])
  assert.deepEqual(gateway.replies(), ['the answer'])
  assert.equal(gateway.log.filter((line) => line.includes('the listener is broken')).length, received.length)
})
