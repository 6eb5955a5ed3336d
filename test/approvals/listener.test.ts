/**
 * Plugins watch approvals: what is asked, and what came of it, once it is on disk; other questions are none of theirs.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ApprovalListener } from '../../src/approvals/after-commit.ts'
import type { Question } from '../../src/approvals/question.ts'
import { ada, key, room } from './support.ts'

const about = {
  command: 'rm -r build',
  description: 'removes a folder',
  patternKeys: ['rm-recursive'],
  turnId: 't1',
  toolCallId: 'c1',
}

function watchedRoom(t: TestContext) {
  const told: unknown[][] = []
  const plugins: ApprovalListener = {
    approvalRequested: (asked) => void told.push(['asked', asked]),
    approvalResolved: (asked, choice, by) => void told.push(['ended', asked.about.command, choice, by]),
  }
  const under = room(t, { plugins })
  const approval = (changes: Partial<Question> = {}) =>
    under.ask({
      kind: 'approval',
      about,
      choices: ['once', 'session', 'always', 'no-way'].map((answer) => ({
        answer,
        label: answer,
        typed: [],
        effect: { says: answer },
      })),
      ...changes,
    })
  return { ...under, told, approval }
}

test('an approval is told of when it is asked and when it is answered, with who answered', async (t) => {
  const { approval, press, told } = watchedRoom(t)
  await approval()
  assert.deepEqual(told, [['asked', { sessionKey: key, source: ada, about }]])
  await press('appr:q1:session')
  assert.deepEqual(told[1], ['ended', 'rm -r build', 'session', 'u7'])
  await press('appr:q1:session')
  assert.equal(told.length, 2)
})

test('any other answer than yes is a no', async (t) => {
  const { approval, press, told } = watchedRoom(t)
  await approval()
  await press('appr:q1:no-way')
  assert.deepEqual(told[1], ['ended', 'rm -r build', 'deny', 'u7'])
})

test('an approval that nobody answers ends with its time', async (t) => {
  const { approval, press, clock, told } = watchedRoom(t)
  await approval({ timeoutMs: 1_000 })
  clock.advance(1_001)
  await press('appr:q1:once')
  assert.deepEqual(told[1], ['ended', 'rm -r build', 'timeout', ''])
})

test('whether a command may end something is no approval', async (t) => {
  const { ask, press, told } = watchedRoom(t)
  await ask()
  await press('sc:once:q1')
  assert.deepEqual(told, [])
})
