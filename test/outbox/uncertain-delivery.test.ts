import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limited, lost, openOutbox, rejected, temporary } from './support.ts'

const label = '♻️ May be a duplicate:'

test('a reply that may have arrived is delivered again with a label', async (t) => {
  const { outbox, sender, time, say, rows } = openOutbox(t)
  sender.script.push(lost)
  await say('hello')
  await outbox.whenIdle()
  assert.deepEqual(
    (await rows()).map(({ state, tries }) => [state, tries]),
    [['unknown', 1]],
  )
  time.advance(1_000)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello', `${label}\n\nhello`])
  assert.equal((await rows())[0]?.state, 'sent')
})

test('an exception of an adapter counts as a lost response', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(new Error('socket hang up'))
  await say('hello')
  await outbox.whenIdle()
  time.advance(1_000)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello', `${label}\n\nhello`])
})

test('the label stays on every further attempt', async (t) => {
  const { outbox, sender, time, say, states } = openOutbox(t)
  sender.script.push(lost, limited(1_000), temporary)
  await say('hello')
  await outbox.whenIdle()
  for (const ms of [1_000, 1_001, 2_000]) {
    time.advance(ms)
    await outbox.whenIdle()
  }
  const labelled = `${label}\n\nhello`
  assert.deepEqual(sender.texts(), ['hello', labelled, labelled, labelled])
  assert.deepEqual(await states(), ['sent'])
})

test('a message without space for the label gets it in a separate message before it', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t, { limits: { maxChars: 40, unit: 'utf16' } })
  const text = 'x'.repeat(40)
  sender.script.push(lost)
  await say(text)
  await outbox.whenIdle()
  time.advance(1_000)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), [text, label, text])
  assert.equal(new Set(sender.calls.slice(1).map(({ deliveryId }) => deliveryId)).size, 2)
})

test('a platform that knows the message does not get it again', async (t) => {
  const { outbox, sender, time, say, rows } = openOutbox(t, { resolve: true })
  sender.script.push(lost)
  sender.found = { sent: true, messageId: 'm7' }
  await say('hello')
  await outbox.whenIdle()
  time.advance(1_000)
  await outbox.whenIdle()
  assert.deepEqual(
    sender.calls.map(({ op, deliveryId }) => [op, deliveryId]),
    [
      ['send', 'reply-1:1'],
      ['resolve', 'reply-1:1'],
    ],
  )
  assert.deepEqual(
    (await rows()).map(({ state, platform_id }) => [state, platform_id]),
    [['sent', 'm7']],
  )
})

test('a platform that certainly does not have the message gets it without a label', async (t) => {
  const { outbox, sender, time, say, states } = openOutbox(t, { resolve: true })
  sender.script.push(lost, temporary)
  sender.found = { sent: false }
  await say('hello')
  await outbox.whenIdle()
  time.advance(1_000)
  await outbox.whenIdle()
  assert.deepEqual(await states(), ['queued'])
  time.advance(2_000)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello', 'hello', 'hello'])
})

test('a platform that cannot be queried gets the message with the label', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t, { resolve: true })
  sender.script.push(lost)
  await say('hello')
  await outbox.whenIdle()
  time.advance(1_000)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello', `${label}\n\nhello`])
})

test('a platform with idempotent sends gets the message again without a label', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t, { idempotentSends: true })
  sender.script.push(lost, new Error('gone'))
  await say('hello')
  await outbox.whenIdle()
  time.advance(1_000)
  await outbox.whenIdle()
  time.advance(2_000)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello', 'hello', 'hello'])
})

test('an edit is always repeated without a label', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(lost, new Error('gone'))
  await say('hello', { draft: { platformId: 'm9', shownText: 'hel ▉' } })
  await outbox.whenIdle()
  time.advance(1_000)
  await outbox.whenIdle()
  time.advance(2_000)
  await outbox.whenIdle()
  assert.deepEqual(
    sender.calls.map(({ op, messageId, text, final }) => [op, messageId, text, final]),
    [
      ['edit', 'm9', 'hello', true],
      ['edit', 'm9', 'hello', true],
      ['edit', 'm9', 'hello', true],
    ],
  )
})

test('a reply whose draft was deleted is sent as a new message', async (t) => {
  const { outbox, sender, say, rows } = openOutbox(t)
  sender.script.push(rejected)
  await say('hello', { replyTo: 'question', draft: { platformId: 'm9', shownText: '' } })
  await outbox.whenIdle()
  assert.deepEqual(
    sender.calls.map(({ op, text, replyTo }) => [op, text, replyTo]),
    [
      ['edit', 'hello', 'question'],
      ['send', 'hello', 'question'],
    ],
  )
  const [row] = await rows()
  assert.deepEqual([row?.state, row?.op, row?.platform_id], ['sent', 'send', 'm1'])
})

test('a reply without its draft becomes a dead letter when the new message is rejected too', async (t) => {
  const { outbox, sender, say, states } = openOutbox(t)
  sender.script.push(rejected, rejected)
  await say('hello', { draft: { platformId: 'm9', shownText: '' } })
  await outbox.whenIdle()
  assert.deepEqual(await states(), ['dead'])
})

test('a receipt that cannot be stored is stored later, and nothing is sent twice', async (t) => {
  const bench = openOutbox(t)
  const { outbox, sender, store, time, say } = bench
  const run = store.run.bind(store)
  bench.onFailpoint = (point) => {
    if (point !== 'outbox:accepted') return
    let failures = 2
    store.run = (useCase) => (failures-- > 0 ? Promise.reject(new Error('disk full')) : run(useCase))
  }
  await say('hello')
  await outbox.whenIdle()
  time.advance(1_000)
  await outbox.whenIdle()
  assert.deepEqual(await bench.states(), ['sending'])
  time.advance(2_000)
  await outbox.whenIdle()
  assert.deepEqual(await bench.states(), ['sent'])
  assert.deepEqual(sender.texts(), ['hello'])
})
