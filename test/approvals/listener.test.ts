/**
 * Plugins are notified of approvals and their results after the commit, but not of other questions.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ApprovalListener } from '../../src/approvals/contract.ts'
import type { Question } from '../../src/approvals/question.ts'
import { ada, key, openQuestions } from './support.ts'

const about = {
  command: 'rm -r build',
  description: 'removes a folder',
  patternKeys: ['rm-recursive'],
  turnId: 't1',
  toolCallId: 'c1',
}

function withListener(t: TestContext) {
  const notifications: unknown[][] = []
  const plugins: ApprovalListener = {
    approvalRequested: (asked) => void notifications.push(['asked', asked]),
    approvalResolved: (asked, choice, by) => void notifications.push(['ended', asked.about.command, choice, by]),
  }
  const under = openQuestions(t, { plugins })
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
  return { ...under, notifications, approval }
}

test('plugins are notified when an approval is requested and when it is answered, with the user', async (t) => {
  const { approval, press, notifications } = withListener(t)
  await approval()
  assert.deepEqual(notifications, [['asked', { sessionKey: key, source: ada, about }]])
  await press('appr:q1:session')
  assert.deepEqual(notifications[1], ['ended', 'rm -r build', 'session', 'u7'])
  await press('appr:q1:session')
  assert.equal(notifications.length, 2)
})

test('every answer except an approval counts as a denial', async (t) => {
  const { approval, press, notifications } = withListener(t)
  await approval()
  await press('appr:q1:no-way')
  assert.deepEqual(notifications[1], ['ended', 'rm -r build', 'deny', 'u7'])
})

test('an unanswered approval ends with a timeout', async (t) => {
  const { approval, press, clock, notifications } = withListener(t)
  await approval({ timeoutMs: 1_000 })
  clock.advance(1_001)
  await press('appr:q1:once')
  assert.deepEqual(notifications[1], ['ended', 'rm -r build', 'timeout', ''])
})

test('the confirmation of a command is not an approval', async (t) => {
  const { ask, press, notifications } = withListener(t)
  await ask()
  await press('sc:once:q1')
  assert.deepEqual(notifications, [])
})
