import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'

test('a listener that fails costs nothing: the message is answered once, and the other listeners are told', async (t) => {
  const heard: string[] = []
  const failing = () => {
    throw new Error('the listener is broken')
  }
  const gateway = await startTestGateway(t, {
    replies: [{ text: 'the answer' }],
    gateway: { listeners: [failing, (name) => void heard.push(name)] },
  })
  await gateway.say('hello')
  await gateway.waitForReply('the answer')
  await gateway.stop()
  const turns = heard.filter((name) => !name.startsWith('message:'))
  assert.deepEqual(turns, [
    'gateway:startup',
    'session:start',
    'agent:start',
    'agent:step',
    'agent:end',
    'gateway:shutdown',
  ])
  assert.deepEqual(gateway.replies(), ['the answer'])
  assert.equal(gateway.log.filter((line) => line.includes('the listener is broken')).length, heard.length)
})
