import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flushEventLoop, openOutbox } from './support.ts'

const target = { platform: 'fake', account: 'default', chatId: 'chat' }

test('typing is shown again every two seconds until the turn ends', async (t) => {
  const { outbox, sender, time } = openOutbox(t, { typing: true })
  const turn = new AbortController()
  outbox.showTyping(target, turn.signal)
  await flushEventLoop()
  time.advance(250)
  await flushEventLoop()
  time.advance(2_000)
  await flushEventLoop()
  assert.equal(sender.calls.length, 2)
  turn.abort()
  await flushEventLoop()
  assert.deepEqual(time.pendingSleeps(), [])
  time.advance(2_000)
  await flushEventLoop()
  assert.equal(sender.calls.length, 2)
})

test('typing pauses while the turn waits for a person', async (t) => {
  const { outbox, sender, time } = openOutbox(t, { typing: true })
  const turn = new AbortController()
  let isWaiting = true
  outbox.showTyping(target, turn.signal, () => isWaiting)
  for (const ms of [250, 2_000]) {
    await flushEventLoop()
    time.advance(ms)
  }
  await flushEventLoop()
  assert.equal(sender.calls.length, 0)
  isWaiting = false
  time.advance(2_000)
  await flushEventLoop()
  assert.equal(sender.calls.length, 1)
  turn.abort()
})

test('a turn with an immediate reply makes no typing call', async (t) => {
  const { outbox, sender, time } = openOutbox(t, { typing: true })
  const turn = new AbortController()
  outbox.showTyping(target, turn.signal)
  await flushEventLoop()
  turn.abort()
  time.advance(10_000)
  await flushEventLoop()
  assert.equal(sender.calls.length, 0)
})

test('a failed typing call is repeated and has no other effect', async (t) => {
  const { outbox, sender, time } = openOutbox(t, { typing: true })
  sender.script.push(new Error('no such chat'))
  const turn = new AbortController()
  outbox.showTyping(target, turn.signal)
  await flushEventLoop()
  time.advance(250)
  await flushEventLoop()
  time.advance(2_000)
  await flushEventLoop()
  assert.equal(sender.calls.length, 2)
  turn.abort()
})

test('a platform without a typing indicator costs no timer; a disconnected one is awaited', async (t) => {
  const unable = openOutbox(t)
  unable.outbox.showTyping(target, new AbortController().signal)
  await flushEventLoop()
  assert.deepEqual(unable.time.pendingSleeps(), [])

  const disconnected = openOutbox(t, { typing: true })
  disconnected.connected = false
  const turn = new AbortController()
  disconnected.outbox.showTyping(target, turn.signal)
  await flushEventLoop()
  disconnected.time.advance(250)
  await flushEventLoop()
  disconnected.connected = true
  disconnected.time.advance(2_000)
  await flushEventLoop()
  assert.equal(disconnected.sender.calls.length, 1)
  turn.abort()
})

test('a stop ends typing', async (t) => {
  const { outbox, time } = openOutbox(t, { typing: true })
  outbox.showTyping(target, new AbortController().signal)
  await flushEventLoop()
  await outbox.stop(0)
  await flushEventLoop()
  assert.deepEqual(time.pendingSleeps(), [])
})
