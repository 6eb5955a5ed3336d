import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { type TestContext, test } from 'node:test'
import { createEventResults } from '../../src/inbox/inbox.ts'
import { acceptEvent, finishEvent } from '../../src/inbox/queries.ts'
import type { TurnResult } from '../../src/message/turn-result.ts'
import { openStore } from '../kit/open-store.ts'

const done: TurnResult = {
  status: 'done',
  text: 'yes',
  sessionId: 's',
  model: 'm',
  usage: { inputTokens: 1, outputTokens: 2 },
}
const event = {
  sessionKey: 'k',
  lane: 'turn',
  kind: 'text',
  platform: 'chat',
  account: 'bot',
  chatId: 'c',
  payload: '{}',
} as const

async function withEvent(t: TestContext) {
  const { store } = openStore(t)
  const { seq } = await store.run(() => acceptEvent(event, ['k'], 1))
  return { store, seq, outcomes: createEventResults(store) }
}

function countListeners({ signal }: AbortController): number {
  return getEventListeners(signal, 'abort').length
}

test('all waiters of a message receive its result and are removed', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  const counted = new AbortController()
  const waiting = [outcomes.wait(seq, counted.signal), outcomes.wait(seq, counted.signal)]
  assert.equal(countListeners(counted), 2)
  await store.run(() => finishEvent(seq, done))
  outcomes.publish(seq, done)
  assert.deepEqual(await Promise.all(waiting), [done, done])
  assert.equal(countListeners(counted), 0)
})

test('a request after the end is answered from the store', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  await store.run(() => finishEvent(seq, done))
  assert.deepEqual(await outcomes.wait(seq, new AbortController().signal), done)
  assert.deepEqual(await createEventResults(store).wait(seq, new AbortController().signal), done)
})

test('a message that ends while a waiter registers is not missed', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  const finishing = store.run(() => finishEvent(seq, done)).then(() => outcomes.publish(seq, done))
  const waiting = Array.from({ length: 20 }, () => outcomes.wait(seq, new AbortController().signal))
  await finishing
  for (const outcome of await Promise.all(waiting)) assert.deepEqual(outcome, done)
})

test('an unknown message number is an error, not an endless wait', async (t) => {
  const { outcomes } = await withEvent(t)
  const counted = new AbortController()
  await assert.rejects(outcomes.wait(99, counted.signal), /99/)
  assert.equal(countListeners(counted), 0)
})

test('a waiter that aborts before, during or after the lookup gets its reason, and other waiters are unaffected', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  const reason = new Error('hung up')
  const before = new AbortController()
  before.abort(reason)
  await assert.rejects(outcomes.wait(seq, before.signal), reason)

  const during = new AbortController()
  const lookedUp = assert.rejects(outcomes.wait(seq, during.signal), reason)
  during.abort(reason)
  await lookedUp

  const after = new AbortController()
  const stillWaiting = outcomes.wait(seq, new AbortController().signal)
  const aborted = assert.rejects(outcomes.wait(seq, after.signal), reason)
  await store.run(() => finishEvent(99, done))
  after.abort(reason)
  await aborted

  assert.deepEqual([before, during, after].map(countListeners), [0, 0, 0])
  outcomes.publish(seq, done)
  assert.deepEqual(await stillWaiting, done)
})

test('a client that disconnects during the lookup does not end the process', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  const controller = new AbortController()
  const waiting = outcomes.wait(seq, controller.signal)
  controller.abort(new Error('hung up'))
  await assert.rejects(waiting, (error) => error === controller.signal.reason)
  await store.run(() => finishEvent(99, done))
  assert.deepEqual(unhandled, [])
})

test('a result without a waiter is no error', async (t) => {
  const { outcomes } = await withEvent(t)
  outcomes.publish(1, done)
  outcomes.publish(99, done)
})
