import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { recordFailedAttempt } from '../../src/inbox/attempts.ts'
import { listChatEvents } from '../../src/inbox/chat-history.ts'
import { dropDeadEvent, listUnfinishedEvents, retryDeadEvent } from '../../src/inbox/dead-letters.ts'
import {
  acceptEvent,
  claimEvent,
  countQueuedEvents,
  findEventPayload,
  findEventState,
  findQueueHead,
  finishEvent,
  listOpenQueues,
  markEventDead,
  pruneInbox,
} from '../../src/inbox/queries.ts'
import { brand } from '../../src/lib/ids.ts'
import type { ChatRange } from '../../src/message/chat-range.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import type { TurnResult } from '../../src/message/turn-result.ts'
import { addTurnInput, beginTurn } from '../../src/sessions/turns.ts'
import { rows } from '../../src/store/query.ts'
import type { Store } from '../../src/store/store.ts'
import { openStore } from '../kit/open-store.ts'

const done: TurnResult = {
  status: 'done',
  text: 'yes',
  sessionId: 's',
  model: 'm',
  usage: { inputTokens: 1, outputTokens: 2 },
}
const chat = { platform: 'chat', account: 'bot', chatId: 'c' }

function accept(store: Store, key: string, more: { sessionKey?: string; lane?: 'turn' | 'control'; at?: number } = {}) {
  const { sessionKey = 'k', lane = 'turn', at = 1_000 } = more
  return store.run(() =>
    acceptEvent({ ...chat, sessionKey, lane, kind: 'text', payload: `{"text":"${key}"}` }, [key], at),
  )
}

async function claimHead(store: Store, lane: 'turn' | 'control' = 'turn') {
  return await store.run(function* () {
    const head = yield* findQueueHead('k', lane)
    if (head !== undefined) yield* claimEvent(head.seq, 'turn 1')
    return head
  })
}

function withThree(t: TestContext) {
  const { store } = openStore(t)
  return Promise.all(['a', 'b', 'c'].map((key) => accept(store, key))).then(() => store)
}

test('messages of a session are taken in order of arrival, each until it has ended', async (t) => {
  const store = await withThree(t)
  assert.equal((await claimHead(store))?.seq, 1)
  const again = await claimHead(store)
  assert.deepEqual([again?.seq, again?.state, again?.tries], [1, 'claimed', 0])
  await store.run(() => finishEvent(1, done))
  assert.equal((await claimHead(store))?.seq, 2)
  await store.run(() => finishEvent(2, done))
  await store.run(() => finishEvent(3, done))
  assert.equal(await claimHead(store), undefined)
})

test('the two lanes of a session are independent, and so are sessions', async (t) => {
  const { store } = openStore(t)
  await accept(store, 'a', { sessionKey: 'other' })
  await accept(store, 'b', { lane: 'control' })
  assert.equal(await claimHead(store), undefined)
  assert.equal((await claimHead(store, 'control'))?.seq, 2)
  assert.deepEqual((await store.run(listOpenQueues)).map(({ session_key, lane }) => `${session_key} ${lane}`).sort(), [
    'k control',
    'other turn',
  ])
})

test('only queued messages are counted as queued', async (t) => {
  const store = await withThree(t)
  await accept(store, 'd', { lane: 'control' })
  assert.equal(await store.run(() => countQueuedEvents('k')), 3)
  await claimHead(store)
  assert.equal(await store.run(() => countQueuedEvents('k')), 2)
})

test('a dead letter leaves the queue, is listed with its reason, and a retry puts it back to its position', async (t) => {
  const store = await withThree(t)
  await claimHead(store)
  await store.run(() => recordFailedAttempt(1, 'the model exploded', true))
  assert.equal((await claimHead(store))?.reason, 'the model exploded')
  await store.run(() => markEventDead(1, 'three tries', { ...done, status: 'failed' }))
  assert.equal((await claimHead(store))?.seq, 2)
  const open = await store.run(() => rows(listUnfinishedEvents, { limit: 10 }))
  assert.deepEqual(
    open.map(({ seq, state, reason }) => [seq, state, reason]),
    [
      [1, 'dead', 'three tries'],
      [2, 'claimed', null],
      [3, 'queued', null],
    ],
  )
  assert.deepEqual({ ...(await store.run(() => retryDeadEvent(1, 2_000))) }, { session_key: 'k', lane: 'turn' })
  const head = await claimHead(store)
  assert.deepEqual([head?.seq, head?.tries, head?.crashes, head?.reason], [1, 0, 0, null])
  assert.equal((await store.run(() => findEventState(1)))?.outcome, null)
})

test('only a dead letter can be retried or dropped', async (t) => {
  const store = await withThree(t)
  for (const seq of [1, 99]) {
    assert.equal(await store.run(() => retryDeadEvent(seq, 0)), undefined)
    assert.equal(await store.run(() => dropDeadEvent(seq)), false)
  }
  await store.run(() => markEventDead(1, 'x', done))
  assert.equal(await store.run(() => dropDeadEvent(1)), true)
  assert.equal((await store.run(() => findEventState(1)))?.state, 'dropped')
  assert.equal(await store.run(() => retryDeadEvent(1, 0)), undefined)
})

test('a dead letter is retried with what was steered into its turn', async (t) => {
  const store = await withThree(t)
  await store.run(function* () {
    yield* claimEvent(1, 'turn')
    const key = brand<SessionKey>('k')
    const turn = {
      id: 'turn',
      sessionKey: key,
      sessionId: 's',
      epoch: 1,
      seq: 1,
      origin: '{}',
      authority: '',
      route: '',
    }
    yield* beginTurn(turn, 1_000)
    yield* addTurnInput('turn', 2, 'steered')
    yield* addTurnInput('turn', 3, 'merged')
    yield* markEventDead(1, 'three tries', done)
    yield* retryDeadEvent(1, 2_000)
  })
  const texts = async () => JSON.parse((await store.run(() => findEventPayload(1))) ?? '').text
  assert.equal(await texts(), 'a\nb')
  // The attempts of another turn add nothing.
  await store.run(() => markEventDead(1, 'three tries', done))
  await store.run(() => retryDeadEvent(1, 3_000))
  assert.equal(await texts(), 'a\nb')
})

test('a failure is recorded only for a message that is being processed', async (t) => {
  const store = await withThree(t)
  await store.run(() => finishEvent(1, done))
  await store.run(() => recordFailedAttempt(1, 'too late', true))
  await store.run(() => markEventDead(2, 'three tries', done))
  await store.run(() => recordFailedAttempt(2, 'too late', true))
  assert.deepEqual(
    (await store.run(() => rows(listUnfinishedEvents, { limit: 10 }))).map(({ reason }) => reason),
    ['three tries', null],
  )
})

test('pruning deletes old finished messages with their keys in batches, and never unfinished ones', async (t) => {
  const { store } = openStore(t)
  for (const key of ['a', 'b', 'c', 'd']) await accept(store, key, { at: 1_000 })
  await accept(store, 'young', { at: 5_000 })
  for (const seq of [1, 2, 5]) await store.run(() => finishEvent(seq, done))
  await store.run(() => markEventDead(3, 'x', done))
  assert.equal(await store.run(() => pruneInbox(5_000, 1)), 1)
  assert.equal(await store.run(() => pruneInbox(5_000, 10)), 1)
  assert.equal(await store.run(() => pruneInbox(5_000, 10)), 0)
  assert.equal((await accept(store, 'a')).duplicate, false)
  for (const key of ['c', 'd', 'young']) assert.equal((await accept(store, key)).duplicate, true, key)
})

test('the history of a chat is read from either end of a time range, without dropped messages', async (t) => {
  const store = await withThree(t)
  await accept(store, 'd', { at: 2_000 })
  await store.run(() => markEventDead(2, 'x', done))
  await store.run(() => dropDeadEvent(2))
  const seqs = async (span: Partial<ChatRange>) => {
    const whole: ChatRange = { after: { at: 0, row: 0 }, before: { at: 9_000, row: 0 }, from: 'newest', limit: 10 }
    return (await store.run(() => listChatEvents(chat, { ...whole, ...span }))).map(({ seq }) => seq)
  }
  assert.deepEqual(await seqs({}), [4, 3, 1])
  assert.deepEqual(await seqs({ limit: 2 }), [4, 3])
  assert.deepEqual(await seqs({ from: 'oldest', limit: 2 }), [1, 3])
  assert.deepEqual(await seqs({ after: { at: 1_000, row: 3 } }), [4])
  assert.deepEqual(await seqs({ before: { at: 1_000, row: 3 } }), [1])
})
