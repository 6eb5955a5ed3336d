import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limited, lost, openOutbox, rejected } from './support.ts'

test('dead letters are listed with their reason, the newest first', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  sender.script.push(rejected, rejected)
  await say('one', { turnId: 'turn', sessionKey: 'session' })
  await say('two')
  await outbox.whenIdle()
  const letters = await outbox.list()
  assert.deepEqual(
    letters.map(({ text, error, turn_id, session_key }) => [text, error, turn_id, session_key]),
    [
      ['two', 'chat not found', null, null],
      ['one', 'chat not found', 'turn', 'session'],
    ],
  )
  assert.equal((await outbox.list(1)).length, 1)
})

test('a retried dead letter is sent before later replies of its chat', async (t) => {
  const { outbox, sender, time, say, states } = openOutbox(t)
  sender.script.push(rejected, limited(60_000))
  await say('one')
  await outbox.whenIdle()
  await say('two', { chatId: 'chat' })
  await outbox.whenIdle()
  const [letter] = await outbox.list()
  assert.equal(await outbox.retry(letter?.id ?? 0), true)
  await outbox.whenIdle()
  assert.deepEqual(await states(), ['queued', 'queued'])
  time.advance(60_001)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'two', 'one', 'two'])
  assert.deepEqual(await outbox.list(), [])
  assert.equal(await outbox.retry(letter?.id ?? 0), false)
})

test('a retried dead letter that may have arrived is sent with the label', async (t) => {
  const { outbox, sender, say } = openOutbox(t, { settings: { outbox: { max_tries: 1 } } })
  sender.script.push(lost)
  await say('hello')
  await outbox.whenIdle()
  const [letter] = await outbox.list()
  await outbox.retry(letter?.id ?? 0)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello', '♻️ May be a duplicate:\n\nhello'])
})

test('a dropped dead letter can neither be dropped again nor retried', async (t) => {
  const { outbox, sender, say, states } = openOutbox(t)
  sender.script.push(rejected)
  await say('hello')
  await outbox.whenIdle()
  const [letter] = await outbox.list()
  assert.equal(await outbox.drop(letter?.id ?? 0), true)
  assert.equal(await outbox.drop(letter?.id ?? 0), false)
  assert.equal(await outbox.retry(letter?.id ?? 0), false)
  assert.deepEqual(await states(), ['dropped'])
})

test('a delivered reply can be neither dropped nor retried', async (t) => {
  const { outbox, say } = openOutbox(t)
  await say('hello')
  await outbox.whenIdle()
  assert.equal(await outbox.retry(1), false)
  assert.equal(await outbox.drop(1), false)
})

test('pruning deletes old finished replies in batches and keeps open ones', async (t) => {
  const bench = openOutbox(t)
  const { outbox, store, time, say, states, sender } = bench
  for (const text of ['one', 'two', 'three']) await say(text)
  await outbox.whenIdle()
  sender.script.push(limited(1e9))
  await say('open')
  await outbox.whenIdle()
  time.advance(1_000)
  await say('young', { chatId: 'other' })
  await outbox.whenIdle()
  const before = time.clock() - 500
  assert.equal(await store.run(() => outbox.prune(before, 2)), 2)
  assert.equal(await store.run(() => outbox.prune(before, 2)), 1)
  assert.equal(await store.run(() => outbox.prune(before, 2)), 0)
  assert.deepEqual(await states(), ['queued', 'sent'])
})
