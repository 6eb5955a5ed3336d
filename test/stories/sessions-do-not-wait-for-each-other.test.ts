import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'

test('a slow turn does not delay other chats', async (t) => {
  const slow = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    model: ({ lastUserText }) => {
      const text = `the answer to ${lastUserText}`
      return lastUserText === 'slow' ? { text, gate: () => slow.promise } : { text }
    },
  })
  await gateway.say('slow', { chat: 'ada' })
  await gateway.modelRequest(0)
  await gateway.say('quick', { chat: 'bob' })
  await gateway.waitForReply('the answer to quick', 'bob')
  assert.deepEqual(gateway.replies('ada'), [])
  slow.resolve()
  await gateway.waitForReply('the answer to slow', 'ada')
})
