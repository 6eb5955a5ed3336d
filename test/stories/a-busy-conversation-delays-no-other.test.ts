import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'

test('with one turn at a time, a conversation with many messages lets another one be answered between them', async (t) => {
  const released = Promise.withResolvers<void>()
  const order: string[] = []
  const gateway = await startTestGateway(t, {
    config: { agent: { max_concurrent_turns: 1 } },
    model: ({ lastUserText }) => {
      order.push(lastUserText)
      return { text: `You said: ${lastUserText}`, gate: () => released.promise }
    },
  })
  for (let index = 1; index <= 5; index++) await gateway.say(`busy ${index}`)
  await gateway.say('other', { chat: 'other' })
  released.resolve()
  await gateway.waitForReply('You said: other', 'other')
  await gateway.waitForReply('You said: busy 5')
  assert.deepEqual(order, ['busy 1', 'other', 'busy 2', 'busy 3', 'busy 4', 'busy 5'])
})
