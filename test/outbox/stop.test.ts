import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDeferred, limited, openOutbox, temporary } from './support.ts'

test('a stop waits for the running call, stores its receipt, and keeps the rest for the next start', async (t) => {
  const bench = openOutbox(t)
  const { outbox, sender, say } = bench
  const answer = createDeferred<{ success: true }>()
  sender.script.push(answer.promise)
  await say('one')
  await say('two')
  await sender.reached(1)
  const stopping = outbox.stop(10_000)
  answer.resolve({ success: true })
  await stopping
  assert.deepEqual(await bench.states(), ['sent', 'queued'])
  const next = openOutbox(t, { path: bench.path, sender })
  await next.outbox.recover()
  await next.outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'two'])
})

test('a call that takes longer than the stop is aborted, and its reply is labelled at the next start', async (t) => {
  const bench = openOutbox(t)
  const { outbox, sender, say } = bench
  sender.script.push(createDeferred<never>().promise)
  await say('hello')
  await sender.reached(1)
  await outbox.stop(0)
  assert.deepEqual(await bench.states(), ['unknown'])
  const next = openOutbox(t, { path: bench.path, sender })
  await next.outbox.recover()
  await next.outbox.whenIdle()
  next.time.advance(1_000)
  await next.outbox.whenIdle()
  assert.equal(sender.texts().at(-1), '♻️ May be a duplicate:\n\nhello')
})

test('replies that end turns during a stop are stored for the next start', async (t) => {
  const bench = openOutbox(t)
  await bench.outbox.stop(1_000)
  await bench.say('late')
  await bench.outbox.whenIdle()
  assert.deepEqual(await bench.states(), ['queued'])
  assert.deepEqual(bench.sender.calls, [])
})

test('a stop ends every wait: for a rate limit, for a platform and of a draft', async (t) => {
  const bench = openOutbox(t)
  const { outbox, sender, time, say } = bench
  const draft = outbox.openDraft({ target: { platform: 'fake', account: 'default', chatId: 'draft' }, turnId: 'turn' })
  draft?.update('A sentence that is long enough to be shown.')
  await sender.reached(1)
  await outbox.whenIdle()
  draft?.update('A sentence that is long enough to be shown. And more.')
  sender.script.push(limited(60_000), temporary)
  await say('one')
  await say('two', { chatId: 'other' })
  await outbox.whenIdle()
  bench.connected = false
  await say('three', { chatId: 'third' })
  await outbox.whenIdle()
  assert.equal(time.pendingSleeps().length, 3)
  await outbox.stop(1_000)
  assert.deepEqual(time.pendingSleeps(), [])
  assert.equal((await draft?.close())?.platformId, 'm1')
})

test('stop may be called twice', async (t) => {
  const { outbox } = openOutbox(t)
  assert.equal(outbox.stop(1_000), outbox.stop(0))
  await outbox.stop(0)
})
