/**
 * The counting itself: it must find each kind of broken promise.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SentMessage } from '../crash/chat-server.ts'
import { isKept, type Said, tallyOf, textOf } from './tally.ts'

const first: Said = { chat: 'c1', number: 1, kind: 'plain' }
const second: Said = { chat: 'c1', number: 2, kind: 'effect' }
const command: Said = { chat: 'c2', number: 1, kind: 'command' }

function shown(chat: string, text: string, draft = false): SentMessage {
  return { id: `${chat}:${text}`, chat, text, draft }
}

const answers = [
  shown('c1', 'the answer to plain c1n1.'),
  shown('c1', 'the answer to effect c1n2.'),
  shown('c2', 'Session key: x'),
]

test('a conversation in which every message was answered once, in order, keeps every promise', () => {
  const tally = tallyOf([first, second, command], answers, [], ['c1n2'])
  assert.deepEqual([isKept(tally), tally.answered, tally.labelled], [true, 3, 0])
})

test('a missing answer, or only a draft, is unanswered unless the message became a dead letter', () => {
  const rest = [shown('c1', 'the answer to plain c1n1.', true), ...answers.slice(1)]
  const tally = tallyOf([first, second, command], rest, [], [])
  assert.deepEqual([isKept(tally), tally.unanswered, tally.leftDrafts], [false, [textOf(first)], 1])
  assert.ok(isKept(tallyOf([first, second, command], rest, [textOf(first)], [])))
})

test('an answer that arrives twice breaks a promise unless the second one is labelled', () => {
  const again = shown('c1', 'the answer to effect c1n2.')
  const labelled = shown('c1', 'May be a duplicate: the answer to effect c1n2.')
  assert.deepEqual(tallyOf([first, second], [...answers, again], [], []).unlabelled, ['c1n2'])
  const tally = tallyOf([first, second, command], [...answers, labelled], [], [])
  assert.deepEqual([isKept(tally), tally.labelled], [true, 1])
})

test('an effect that happens twice and an answer out of order are broken promises', () => {
  const tally = tallyOf([first, second, command], answers.toReversed(), [], ['c1n2', 'c1n2'])
  assert.deepEqual([tally.effectsTwice, tally.inversions], [['c1n2'], ['c1n1 after 2']])
  assert.ok(!isKept(tally))
})
