import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  assessCrash,
  attemptsExhausted,
  closeAllAttempts,
  continueAttempt,
  listSuspectSessions,
  pauseAttempt,
  recordFailedAttempt,
  recordProgress,
} from '../../src/inbox/attempts.ts'
import { acceptEvent, claimEvent, finishEvent } from '../../src/inbox/queries.ts'
import { query, row } from '../../src/store/query.ts'
import { openStore } from '../kit/open-store.ts'

const selectCounts = query((db, p: { seq: number }) =>
  db.selectFrom('inbox').select(['tries', 'crashes', 'own_crashes', 'available_at']).where('seq', '=', p.seq),
)

/** Sessions named a, b, c …, each with one message. The number of a message is its position in the alphabet. */
async function sessions(t: TestContext, names: string) {
  const { store } = openStore(t)
  const chat = { platform: 'chat', account: 'bot', chatId: 'c', lane: 'turn', kind: 'text', payload: '{}' } as const
  for (const name of names) await store.run(() => acceptEvent({ ...chat, sessionKey: name }, [name], 0))
  const seqOf = (name: string) => names.indexOf(name) + 1
  return {
    store,
    seqOf,
    async claim(claimed: string) {
      for (const name of claimed) await store.run(() => claimEvent(seqOf(name), `turn of ${name}`))
    },
    crash: (now = 0) => store.run(() => assessCrash(() => true, now)),
    async counts(name: string) {
      const found = await store.run(() => row(selectCounts, { seq: seqOf(name) }))
      assert.ok(found !== undefined)
      return found
    },
    suspects: () => store.run(listSuspectSessions),
  }
}

test('a hundred orderly stops count as no failed attempt', async (t) => {
  const { store, claim, crash, counts } = await sessions(t, 'a')
  for (let stop = 0; stop < 100; stop++) {
    await claim('a')
    await store.run(closeAllAttempts)
    assert.equal(await crash(), 0)
  }
  assert.deepEqual({ ...(await counts('a')) }, { tries: 0, crashes: 0, own_crashes: 0, available_at: 0 })
})

test('a hundred crashes while a turn waits for a person count as no failed attempt', async (t) => {
  const { store, claim, crash, counts } = await sessions(t, 'a')
  await claim('a')
  for (let times = 0; times < 100; times++) {
    await store.run(() => pauseAttempt(1))
    assert.equal(await crash(), 0)
    await store.run(() => continueAttempt(1))
  }
  assert.equal((await counts('a')).tries, 0)
})

test('a crash with one message in progress is attributed to it, and the third attempt waits five minutes', async (t) => {
  const { claim, crash, counts } = await sessions(t, 'ab')
  for (const [tries, available_at] of [
    [1, 1_000],
    [2, 301_000],
  ]) {
    await claim('a')
    assert.equal(await crash(1_000), 1)
    assert.deepEqual({ ...(await counts('a')) }, { tries, crashes: 0, own_crashes: tries, available_at })
  }
  await claim('a')
  await crash(1_000)
  assert.equal(attemptsExhausted(await counts('a')), true)
  assert.equal(attemptsExhausted(await counts('b')), false)
})

test('a crash with several messages in progress is attributed to none of them; two make them suspects', async (t) => {
  const { claim, crash, counts, suspects } = await sessions(t, 'abc')
  await claim('abc')
  assert.equal(await crash(), 3)
  assert.deepEqual(await suspects(), [])
  await claim('abc')
  await crash()
  assert.deepEqual(await suspects(), ['a', 'b', 'c'])
  for (const name of 'abc')
    assert.deepEqual({ ...(await counts(name)) }, { tries: 0, crashes: 2, own_crashes: 0, available_at: 0 })
})

test('a suspect is blamed for a crash before the messages that were in progress beside it', async (t) => {
  const { claim, crash, counts } = await sessions(t, 'abc')
  await claim('a')
  await crash()
  await claim('abc')
  assert.equal(await crash(), 3)
  assert.deepEqual([(await counts('a')).tries, (await counts('b')).tries, (await counts('b')).crashes], [2, 0, 0])
})

test('the least suspicious sessions run first, and progress ends the suspicion', async (t) => {
  const { store, claim, crash, seqOf, suspects } = await sessions(t, 'abc')
  for (let times = 0; times < 2; times++) {
    await claim('abc')
    await crash()
  }
  await claim('a')
  await crash()
  assert.deepEqual(await suspects(), ['b', 'c', 'a'])
  await store.run(() => recordProgress(seqOf('a')))
  assert.deepEqual(await suspects(), ['b', 'c'])
})

test('a crash loop that makes progress each time becomes slow and ends', async (t) => {
  const { store, claim, crash, counts } = await sessions(t, 'a')
  for (let loops = 1; loops <= 20; loops++) {
    await claim('a')
    await store.run(() => recordProgress(1))
    await crash(1_000)
    const found = await counts('a')
    assert.equal(attemptsExhausted(found), loops === 20, `after ${loops} crashes`)
    if (loops < 20) assert.equal(found.available_at, loops < 3 ? 1_000 : 301_000, `after ${loops} crashes`)
  }
})

test('an error outside of the turn, such as a full disk, is not counted', async (t) => {
  const { store, claim, counts } = await sessions(t, 'a')
  await claim('a')
  await store.run(() => recordFailedAttempt(1, 'the disk is full', false))
  assert.equal((await counts('a')).tries, 0)
  await store.run(() => recordFailedAttempt(1, 'a bug', true))
  assert.equal((await counts('a')).tries, 1)
})

test('a finished message is not part of a crash, nor is one of another process', async (t) => {
  const { store, claim, counts } = await sessions(t, 'ab')
  await claim('ab')
  const usage = { inputTokens: 0, outputTokens: 0 }
  await store.run(() => finishEvent(1, { status: 'done', text: '', sessionId: '', model: '', usage }))
  assert.equal(await store.run(() => assessCrash((key) => key === 'a', 0)), 0)
  assert.deepEqual((await counts('b')).tries, 0)
})

/**
 * The gateway ends whenever the poison runs, and a supervisor restarts it. Suspects run one at a time, as in the
 * engine.
 */
test('of 24 messages in progress, one of which ends the gateway, that one becomes a dead letter and 23 are answered', async (t) => {
  const names = 'abcdefghijklmnopqrstuvwx'
  const poison = 'm'
  const { store, claim, crash, counts, seqOf, suspects } = await sessions(t, names)
  const open = new Set(names)
  const usage = { inputTokens: 0, outputTokens: 0 }
  const answer = async (name: string) => {
    await store.run(() => finishEvent(seqOf(name), { status: 'done', text: '', sessionId: '', model: '', usage }))
    open.delete(name)
  }
  let crashes = 0
  await claim(names)
  for (; !attemptsExhausted(await counts(poison)); crashes++) {
    assert.ok(crashes < 10, 'the gateway keeps crashing')
    await crash()
    const alone = await suspects()
    if (alone.length === 0) await claim([...open].join(''))
    for (const name of alone) {
      await claim(name)
      if (name === poison) break
      await answer(name)
    }
  }
  // Two that concern all messages, three that concern the poison alone.
  assert.equal(crashes, 5)
  for (const name of open) if (name !== poison) assert.equal((await counts(name)).tries, 0, name)
})
