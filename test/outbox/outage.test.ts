import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limited, openOutbox, round, temporary } from './support.ts'

test('what waited for an outage to end goes as soon as the platform works again', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(...Array.from({ length: 6 }, () => temporary))
  await say('the answer')
  await outbox.settled()
  // The pauses between tries grow: 1, 2, 4, 8 and 16 seconds are over, 32 are beginning.
  for (const seconds of [1, 2, 4, 8, 16]) {
    time.advance(seconds * 1_000)
    await outbox.settled()
  }
  assert.equal(sender.calls.length, 6)
  outbox.platformConnected('fake', 'default')
  await round()
  await outbox.settled()
  assert.deepEqual([...sender.shown.values()], ['the answer'])
})

test('a platform that comes and goes does not use up the tries of a reply', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  sender.script.push(temporary, temporary)
  await say('the answer')
  await outbox.settled()
  for (let time = 0; time < 20; time += 1) {
    outbox.platformConnected('fake', 'default')
    await round()
    await outbox.settled()
  }
  assert.equal(sender.calls.length, 1)
})

test('a limit still holds when the platform works again', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(limited(30_000))
  await say('the answer')
  await outbox.settled()
  outbox.platformConnected('fake', 'default')
  await round()
  await outbox.settled()
  assert.equal(sender.calls.length, 1)
  time.advance(30_001)
  await round()
  await outbox.settled()
  assert.deepEqual([...sender.shown.values()], ['the answer'])
})

test('another account waits on', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(...Array.from({ length: 5 }, () => temporary))
  await say('the answer')
  await outbox.settled()
  for (const seconds of [1, 2, 4, 8]) {
    time.advance(seconds * 1_000)
    await outbox.settled()
  }
  outbox.platformConnected('fake', 'other')
  await round()
  await outbox.settled()
  assert.equal(sender.calls.length, 5)
})
