import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, conversation } from './support.ts'

test('a message whose turn fails three times becomes a dead letter, and other messages are answered', async (t) => {
  let poisoned = false
  const gateway = await startTestGateway(t, {
    model: ({ lastUserText }) => {
      poisoned = lastUserText.includes('poison')
      return { text: `You said: ${lastUserText}` }
    },
    gateway: {
      // An unexpected error during the turn.
      failpoint(point) {
        if (poisoned && point === 'agent:streaming') throw new TypeError('cannot read properties of undefined')
      },
    },
  })
  await gateway.say('poison')
  await gateway.say('untouched', { chat: 'other' })
  await gateway.waitForReply('You said: untouched', 'other')
  // New work ends the delay between two attempts.
  for (const [index, text] of ['and', 'then', 'last'].entries()) {
    await gateway.waitForLogLine(index + 1, { event: 'engine.worker_failed' })
    await gateway.say(text)
  }
  const notice = await gateway.waitForReply('hermes inbox list')
  assert.match(notice.text, /\b1\b/)
  // Listeners of agent:start also receive agent:end.
  await gateway.waitForEvent('agent:end', { message: 'poison' })
  await gateway.waitForReply('You said: last')
  assert.deepEqual(gateway.replies('chat').slice(1), ['You said: and', 'You said: then', 'You said: last'])
  assert.deepEqual(conversation(gateway.model.requests.at(-1))[0], 'user: and')

  const inbox = await (await gateway.http('/api/inbox')).json()
  assert.deepEqual(
    [at(inbox, 0, 'seq'), at(inbox, 0, 'state'), at(inbox, 0, 'tries'), at(inbox, 0, 'reason')],
    [1, 'dead', 3, 'cannot read properties of undefined'],
  )

  poisoned = false
  gateway.model.setDefault(() => ({ text: 'fixed' }))
  const retried = await gateway.post('/api/inbox/retry', { id: 1 })
  assert.equal(retried.status, 200)
  await gateway.waitForReply('fixed')
  assert.equal(conversation(gateway.model.requests.at(-1)).at(-1), 'user: poison')
  assert.deepEqual(await (await gateway.http('/api/inbox')).json(), [])
})
