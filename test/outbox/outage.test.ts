import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordingLog } from '../config/support.ts'
import { flushEventLoop, limited, lost, openOutbox, temporary } from './support.ts'

test('replies that wait because of an outage are sent as soon as the platform works again', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(...Array.from({ length: 6 }, () => temporary))
  await say('the answer')
  await outbox.whenIdle()
  // The delays between attempts grow: those of 1, 2, 4, 8 and 16 seconds are over, that of 32 seconds begins.
  for (const seconds of [1, 2, 4, 8, 16]) {
    time.advance(seconds * 1_000)
    await outbox.whenIdle()
  }
  assert.equal(sender.calls.length, 6)
  outbox.platformConnected('fake', 'default')
  await flushEventLoop()
  await outbox.whenIdle()
  assert.deepEqual([...sender.shown.values()], ['the answer'])
})

test('a platform with an unstable connection does not use up the attempts of a reply', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  sender.script.push(temporary, temporary)
  await say('the answer')
  await outbox.whenIdle()
  for (let time = 0; time < 20; time += 1) {
    outbox.platformConnected('fake', 'default')
    await flushEventLoop()
    await outbox.whenIdle()
  }
  assert.equal(sender.calls.length, 1)
})

test('a rate limit still applies when the platform works again', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(limited(30_000))
  await say('the answer')
  await outbox.whenIdle()
  outbox.platformConnected('fake', 'default')
  await flushEventLoop()
  await outbox.whenIdle()
  assert.equal(sender.calls.length, 1)
  time.advance(30_001)
  await flushEventLoop()
  await outbox.whenIdle()
  assert.deepEqual([...sender.shown.values()], ['the answer'])
})

test('a new connection of another account has no effect', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(...Array.from({ length: 5 }, () => temporary))
  await say('the answer')
  await outbox.whenIdle()
  for (const seconds of [1, 2, 4, 8]) {
    time.advance(seconds * 1_000)
    await outbox.whenIdle()
  }
  outbox.platformConnected('fake', 'other')
  await flushEventLoop()
  await outbox.whenIdle()
  assert.equal(sender.calls.length, 5)
})

/** The log as an operator reads it: the level, and the new state of the row. */
function warnings(lines: ReturnType<typeof recordingLog>['lines']) {
  return lines.filter(({ level }) => level !== 'debug' && level !== 'info').map(({ level, state }) => [level, state])
}

test('an outage is logged as one warning for each affected reply, regardless of the number of attempts', async (t) => {
  const { log, lines } = recordingLog()
  const { outbox, sender, time, say } = openOutbox(t, { log })
  sender.script.push(...Array.from({ length: 15 }, () => temporary))
  for (const chatId of ['a', 'b', 'c']) await say('the answer', { chatId })
  await outbox.whenIdle()
  for (const seconds of [1, 2, 4, 8]) {
    time.advance(seconds * 1_000)
    await outbox.whenIdle()
  }
  assert.equal(sender.calls.length, 15)
  assert.deepEqual(
    warnings(lines),
    Array.from({ length: 3 }, () => ['warn', 'queued']),
  )
  const tries = lines.filter(({ event }) => event === 'outbox.retry_scheduled')
  assert.equal(tries.length, 15, 'the further tries are there for those who look closely')
})

test('repeated rate limits are logged as one warning', async (t) => {
  const { log, lines } = recordingLog()
  const { outbox, sender, time, say } = openOutbox(t, { log })
  sender.script.push(limited(1_000), limited(1_000), limited(1_000))
  await say('the answer')
  await outbox.whenIdle()
  for (let turn = 0; turn < 3; turn += 1) {
    time.advance(1_001)
    await flushEventLoop()
    await outbox.whenIdle()
  }
  assert.deepEqual(sender.texts().length, 4)
  assert.deepEqual(warnings(lines), [['warn', 'queued']])
})

test('a reply is logged when it becomes uncertain and when it becomes a dead letter', async (t) => {
  const { log, lines } = recordingLog()
  const { outbox, sender, time, say } = openOutbox(t, { log, settings: { outbox: { max_tries: 4 } } })
  sender.script.push(temporary, lost, lost, lost)
  await say('the answer')
  await outbox.whenIdle()
  for (const seconds of [1, 2, 4]) {
    time.advance(seconds * 1_000)
    await outbox.whenIdle()
  }
  assert.deepEqual(warnings(lines), [
    ['warn', 'queued'],
    ['warn', 'unknown'],
    ['error', undefined],
  ])
})

test('an exception of an adapter is logged in one line with the error', async (t) => {
  const { log, lines } = recordingLog()
  const { outbox, sender, say } = openOutbox(t, { log })
  const thrown = new Error('socket hang up')
  sender.script.push(thrown)
  await say('the answer')
  await outbox.whenIdle()
  assert.deepEqual(
    lines.map(({ level, err }) => [level, err]),
    [['warn', thrown]],
  )
})
