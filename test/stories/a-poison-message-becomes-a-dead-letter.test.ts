import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, conversation } from './support.ts'

test('a message that breaks the gateway three times is set aside with its reason, and the others go on', async (t) => {
  let poisoned = false
  const gateway = await startTestGateway(t, {
    model: ({ lastUserText }) => {
      poisoned = lastUserText.includes('poison')
      return { text: `You said: ${lastUserText}` }
    },
    gateway: {
      // A fault that nobody foresaw, in the middle of the route.
      failpoint(point) {
        if (poisoned && point === 'agent:streaming') throw new TypeError('cannot read properties of undefined')
      },
    },
  })
  await gateway.say('poison')
  await gateway.say('untouched', { chat: 'other' })
  await gateway.waitForReply('You said: untouched', 'other')
  // New work ends the pause between two tries.
  for (const [index, text] of ['and', 'then', 'last'].entries()) {
    await failures(gateway, index + 1)
    await gateway.say(text)
  }
  const notice = await gateway.waitForReply('Sorry, I could not answer this message')
  assert.match(notice.text, /number 1.*hermes inbox list/s)
  // Whoever was told that it began is told that it ended.
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
  gateway.model.setDefault(() => ({ text: 'mended' }))
  const retried = await gateway.post('/api/inbox/retry', { id: 1 })
  assert.equal(retried.status, 200)
  await gateway.waitForReply('mended')
  assert.equal(conversation(gateway.model.requests.at(-1)).at(-1), 'user: poison')
  assert.deepEqual(await (await gateway.http('/api/inbox')).json(), [])
})

/** Resolves when the turn has failed so many times. */
async function failures(gateway: TestGateway, times: number): Promise<void> {
  const isFailure = (line: string) => line.includes('engine.worker_failed')
  while (gateway.log.filter(isFailure).length < times) await gateway.nextLine()
}
