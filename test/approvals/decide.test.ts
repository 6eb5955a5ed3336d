/**
 * The person who holds the token of the gateway answers a question of any chat.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { decideQuestion } from '../../src/approvals/decide.ts'
import type { ErrorCode } from '../../src/lib/error-catalogue.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import type { SessionSource } from '../../src/message/source.ts'
import { openQuestions } from './support.ts'

const token: SessionSource = { platform: 'api', account: 'default', chatId: 'api', chatType: 'dm', userId: 'owner' }

function answering(t: TestContext, change: Parameters<typeof openQuestions>[1] = {}) {
  const under = openQuestions(t, change)
  const decide = (answer: string, text = '') => decideQuestion(under.questions.deps, token, { id: 'q1', answer, text })
  const refused = (code: ErrorCode) => assert.rejects(decide('once'), (error) => isHermesError(error, code))
  return { ...under, decide, refused }
}

test('an owner answers for another person, and the effect is stored with the answer', async (t) => {
  const { ask, decide, sent, enqueued, states, woken, show } = answering(t)
  show('question:q1', 'm1')
  await ask({ kind: 'approval', approver: 'requester' })
  assert.equal((await decide('once')).changed, true)
  assert.deepEqual({ ...states()[0] }, { id: 'q1', state: 'answered', answer: 'once', answered_by: 'owner' })
  assert.deepEqual([enqueued().length, woken.length], [1, 1])
  assert.equal(sent.at(-1)?.key, 'question:q1:closed')
  assert.equal((await decide('once')).changed, false)
  assert.equal(enqueued().length, 1)
})

test('the token alone is not the second of two owners', async (t) => {
  const { ask, refused, states } = answering(t)
  await ask({ kind: 'approval', approver: 'other_owner' })
  await refused('approvals/refused')
  assert.equal(states()[0]?.['state'], 'waiting')
})

test('a question whose time is over is expired by the answer that comes too late', async (t) => {
  const { ask, clock, refused, states, enqueued } = answering(t)
  await ask({ kind: 'approval', timeoutMs: 1_000 })
  clock.advance(1_001)
  await refused('approvals/expired')
  assert.deepEqual([states()[0]?.['state'], enqueued().length], ['expired', 0])
  await refused('approvals/expired')
})

test('nothing is answered while the gateway stops, and no confirmation of a command', async (t) => {
  const stopping = answering(t, { isOpen: () => false })
  await stopping.ask({ kind: 'approval' })
  await stopping.refused('http/starting')
  const confirming = answering(t)
  await confirming.ask()
  await confirming.refused('approvals/not-found')
})
