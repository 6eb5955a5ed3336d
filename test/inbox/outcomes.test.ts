import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createOutcomes } from '../../src/inbox/outcomes.ts'
import { acceptEvent, finishEvent } from '../../src/inbox/queries.ts'
import type { TurnOutcome } from '../../src/platforms/adapter.ts'
import { openStore } from '../kit/open-store.ts'

const done: TurnOutcome = {
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
  return { store, seq, outcomes: createOutcomes(store) }
}

/** A signal that tells how many listen to it. */
function countedSignal(): { signal: AbortSignal; abort(reason: Error): void; listeners(): number } {
  const controller = new AbortController()
  const { signal } = controller
  let listeners = 0
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
    listeners += 1
    addEventListener.apply(signal, given)
  }
  signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
    listeners -= 1
    removeEventListener.apply(signal, given)
  }
  return { signal, abort: (reason) => controller.abort(reason), listeners: () => listeners }
}

test('everybody who waits for a message hears how it ended, and leaves nothing behind', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  const counted = countedSignal()
  const waiting = [outcomes.wait(seq, counted.signal), outcomes.wait(seq, counted.signal)]
  await store.run(() => finishEvent(seq, done))
  outcomes.settle(seq, done)
  assert.deepEqual(await Promise.all(waiting), [done, done])
  assert.equal(counted.listeners(), 0)
})

test('whoever asks after the end is answered from disk', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  await store.run(() => finishEvent(seq, done))
  assert.deepEqual(await outcomes.wait(seq, new AbortController().signal), done)
  assert.deepEqual(await createOutcomes(store).wait(seq, new AbortController().signal), done)
})

test('a message that ends while somebody begins to wait is not missed', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  const finishing = store.run(() => finishEvent(seq, done)).then(() => outcomes.settle(seq, done))
  const waiting = Array.from({ length: 20 }, () => outcomes.wait(seq, new AbortController().signal))
  await finishing
  for (const outcome of await Promise.all(waiting)) assert.deepEqual(outcome, done)
})

test('a number that no message has is an error, not an endless wait', async (t) => {
  const { outcomes } = await withEvent(t)
  const counted = countedSignal()
  await assert.rejects(outcomes.wait(99, counted.signal), /99/)
  assert.equal(counted.listeners(), 0)
})

test('whoever gives up before, during or after the look gets his reason, and disturbs nobody else', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  const reason = new Error('hung up')
  const before = countedSignal()
  before.abort(reason)
  await assert.rejects(outcomes.wait(seq, before.signal), reason)

  const during = countedSignal()
  const lookedUp = assert.rejects(outcomes.wait(seq, during.signal), reason)
  during.abort(reason)
  await lookedUp

  const after = countedSignal()
  const patient = outcomes.wait(seq, new AbortController().signal)
  const impatient = assert.rejects(outcomes.wait(seq, after.signal), reason)
  await store.run(() => finishEvent(99, done))
  after.abort(reason)
  await impatient

  assert.deepEqual([before.listeners(), during.listeners(), after.listeners()], [0, 0, 0])
  outcomes.settle(seq, done)
  assert.deepEqual(await patient, done)
})

test('a hang-up while the message is looked up does not bring the process down', async (t) => {
  const { outcomes, seq, store } = await withEvent(t)
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  const controller = new AbortController()
  const waiting = outcomes.wait(seq, controller.signal)
  controller.abort(new Error('hung up'))
  await assert.rejects(waiting, /hung up/)
  await store.run(() => finishEvent(99, done))
  assert.deepEqual(unhandled, [])
})

test('an end that nobody waits for is no error', async (t) => {
  const { outcomes } = await withEvent(t)
  outcomes.settle(1, done)
  outcomes.settle(99, done)
})
