import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isGrantedInSession } from '../../src/approvals/queries.ts'
import { command, key, room } from './support.ts'

test('/approve answers what waits longest, and nothing else', async (t) => {
  const { ask, typed, clock, handedIn, woken, points, states } = room(t, { showsButtons: () => false })
  await ask()
  clock.advance(1)
  await ask({ kind: 'clarify' })
  assert.equal(await typed('approve'), 'Going on.')
  assert.deepEqual([handedIn.length, woken, points], [1, [key], ['question:answered']])
  assert.deepEqual(
    states().map(({ state }) => state),
    ['answered', 'waiting'],
  )
})

test('what a tool waits for is answered before a command that wants a yes', async (t) => {
  const { ask, typed, clock, states } = room(t)
  await ask()
  clock.advance(1)
  await ask({ kind: 'approval' })
  await typed('approve')
  assert.deepEqual(
    states().map(({ state }) => state),
    ['waiting', 'answered'],
  )
})

test('/approve all answers everything that waits', async (t) => {
  const { ask, typed, states } = room(t)
  await ask()
  await ask({ kind: 'approval' })
  assert.equal(await typed('approve', { all: true }), 'Going on.\n\nGoing on.')
  assert.deepEqual(
    states().map(({ answer }) => answer),
    ['once', 'once'],
  )
})

test('/approve always is remembered for the session, /approve is not', async (t) => {
  const { ask, typed, store } = room(t)
  const granted = () => store.run(() => isGrantedInSession(key, 'slash:new'))
  await ask()
  await typed('approve')
  assert.equal(await granted(), false)
  await ask()
  await typed('approve always')
  assert.equal(await granted(), true)
  await ask()
  await typed('approve session')
  assert.equal(await granted(), true, 'granted twice is granted')
  assert.equal(await store.run(() => isGrantedInSession('another', 'slash:new')), false)
})

test('/deny passes on why', async (t) => {
  const { ask, typed, handedIn, sent, platformIds } = room(t)
  const refusal = { says: 'Refused.', event: { ...command, text: 'refused' } }
  await ask({ choices: [{ answer: 'deny', label: 'Deny', typed: ['deny'], effect: refusal }] })
  platformIds.set('question:q1', 'm1')
  assert.equal(await typed('deny', { reason: 'too **dear**' }), 'Refused.')
  assert.equal(handedIn[0]?.event.metadata?.['reason'], 'too **dear**')
  assert.equal(sent.at(-1)?.text, 'Go on?\n\n**Deny** — Ada: `too **dear**`')
})

test('where nothing waits, that is said', async (t) => {
  const { ask, typed, clock, handedIn } = room(t)
  assert.equal(await typed('approve'), 'There is no open question in this session.')
  await ask({ choices: [{ answer: 'a', label: 'A', typed: [], effect: { says: '' } }] })
  assert.equal(await typed('deny'), 'There is no open question in this session.', 'some questions want a press')
  await ask()
  clock.advance(300_000)
  assert.equal(await typed('approve'), 'There is no open question in this session.')
  assert.deepEqual(handedIn, [])
})

test('words that a question does not take leave it waiting, and say which it takes', async (t) => {
  const { ask, typed, states } = room(t)
  await ask({ choices: [{ answer: 'no', label: 'No', typed: ['deny'], effect: { says: '' } }] })
  assert.equal(await typed('approve always'), 'This question takes:\n\n- `/deny`: No')
  assert.equal(states()[0]?.['state'], 'waiting')
})

test('/deny all passes over what cannot be denied', async (t) => {
  const { ask, typed, states } = room(t)
  const effect = { says: 'Done.' }
  await ask({ kind: 'approval', choices: [{ answer: 'yes', label: 'Yes', typed: ['approve'], effect }] })
  assert.equal(await typed('deny', { all: true }), 'There is no open question in this session.')
  assert.equal(states()[0]?.['state'], 'waiting')
})

test('a typed answer takes the buttons away where there are some, and says no more where there are none', async (t) => {
  const { ask, typed, sent, platformIds } = room(t)
  await ask()
  platformIds.set('question:q1', 'm1')
  await typed('deny')
  assert.deepEqual([sent.length, sent.at(-1)?.draft?.platformId], [2, 'm1'])
  const plain = room(t, { showsButtons: () => false })
  await plain.ask()
  plain.platformIds.set('question:q1', 'm1')
  await plain.typed('deny')
  assert.equal(plain.sent.length, 1)
})
