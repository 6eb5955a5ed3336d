import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isGrantedInSession } from '../../src/approvals/queries.ts'
import { command, key, openQuestions } from './support.ts'

test('/approve answers only the oldest open question', async (t) => {
  const { ask, typed, clock, enqueued, woken, failpoints, states } = openQuestions(t, { showsButtons: () => false })
  await ask()
  clock.advance(1)
  await ask({ kind: 'clarify' })
  assert.equal(await typed('approve'), 'Going on.')
  assert.deepEqual([enqueued().length, woken, failpoints], [1, [key], ['question:answered']])
  assert.deepEqual(
    states().map(({ state }) => state),
    ['answered', 'waiting'],
  )
})

test('the approval of a tool is answered before the confirmation of a command', async (t) => {
  const { ask, typed, clock, states } = openQuestions(t)
  await ask()
  clock.advance(1)
  await ask({ kind: 'approval' })
  await typed('approve')
  assert.deepEqual(
    states().map(({ state }) => state),
    ['waiting', 'answered'],
  )
})

test('/approve all answers all open questions', async (t) => {
  const { ask, typed, states } = openQuestions(t)
  await ask()
  await ask({ kind: 'approval' })
  assert.equal(await typed('approve', { all: true }), 'Going on.\n\nGoing on.')
  assert.deepEqual(
    states().map(({ answer }) => answer),
    ['once', 'once'],
  )
})

test('/approve always grants the rule for the session, /approve does not', async (t) => {
  const { ask, typed, store } = openQuestions(t)
  const granted = () => store.run(() => isGrantedInSession(key, 'slash:new'))
  await ask()
  await typed('approve')
  assert.equal(await granted(), false)
  await ask()
  await typed('approve always')
  assert.equal(await granted(), true)
  await ask()
  await typed('approve session')
  assert.equal(await granted(), true, 'a second grant changes nothing')
  assert.equal(await store.run(() => isGrantedInSession('another', 'slash:new')), false)
})

test('/deny passes on the reason', async (t) => {
  const { ask, typed, enqueued, sent, show } = openQuestions(t)
  const refusal = { says: 'Refused.', event: { ...command, text: 'refused' } }
  await ask({ choices: [{ answer: 'deny', label: 'Deny', typed: ['deny'], effect: refusal }] })
  show('question:q1', 'm1')
  assert.equal(await typed('deny', { reason: 'too **dear**' }), 'Refused.')
  assert.equal(enqueued()[0]?.event.metadata?.['reason'], 'too **dear**')
  assert.equal(sent.at(-1)?.text, 'Go on?\n\n**Deny** — Ada: `too **dear**`')
})

test('without an open question every answer gets the same reply and has no effect', async (t) => {
  const { ask, typed, clock, enqueued } = openQuestions(t)
  const noQuestion = await typed('approve')
  await ask({ choices: [{ answer: 'a', label: 'A', typed: [], effect: { says: '' } }] })
  assert.equal(await typed('deny'), noQuestion, 'this question accepts buttons only')
  await ask()
  clock.advance(300_000)
  assert.equal(await typed('approve'), noQuestion)
  assert.deepEqual(enqueued(), [])
})

test('an answer that a question does not accept leaves it open, and the reply lists the accepted commands', async (t) => {
  const { ask, typed, states } = openQuestions(t)
  await ask({ choices: [{ answer: 'no', label: 'No', typed: ['deny'], effect: { says: '' } }] })
  assert.match(String(await typed('approve always')), /\n- `\/deny`: No$/)
  assert.equal(states()[0]?.['state'], 'waiting')
})

test('/deny all skips questions that cannot be denied', async (t) => {
  const { ask, typed, states } = openQuestions(t)
  const effect = { says: 'Done.' }
  await ask({ kind: 'approval', choices: [{ answer: 'yes', label: 'Yes', typed: ['approve'], effect }] })
  assert.notEqual(await typed('deny', { all: true }), 'Done.')
  assert.equal(states()[0]?.['state'], 'waiting')
})

test('a typed answer removes the buttons, and edits nothing if the question has none', async (t) => {
  const { ask, typed, sent, show } = openQuestions(t)
  await ask()
  show('question:q1', 'm1')
  await typed('deny')
  assert.deepEqual([sent.length, sent.at(-1)?.draft?.platformId], [2, 'm1'])
  const plain = openQuestions(t, { showsButtons: () => false })
  await plain.ask()
  plain.show('question:q1', 'm1')
  await plain.typed('deny')
  assert.equal(plain.sent.length, 1)
})
