/**
 * The counting itself: it must find each kind of broken promise.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SentMessage } from '../crash/chat-server.ts'
import { countDeliveries, keepsPromises, textOf, type UserMessage } from './delivery-counts.ts'

const first: UserMessage = { chat: 'c1', number: 1, kind: 'plain' }
const second: UserMessage = { chat: 'c1', number: 2, kind: 'effect' }
const command: UserMessage = { chat: 'c2', number: 1, kind: 'command' }

function shown(chat: string, text: string, draft = false): SentMessage {
  return { id: `${chat}:${text}`, chat, text, draft }
}

const answers = [
  shown('c1', 'the answer to plain c1n1.'),
  shown('c1', 'the answer to effect c1n2.'),
  shown('c2', 'Session key: x'),
]

test('a conversation in which every message was answered once, in order, keeps every promise', () => {
  const counts = countDeliveries([first, second, command], answers, [], ['c1n2'])
  assert.deepEqual([keepsPromises(counts), counts.answered, counts.labelled], [true, 3, 0])
})

test('a missing answer, or only a draft, is unanswered unless the message became a dead letter', () => {
  const rest = [shown('c1', 'the answer to plain c1n1.', true), ...answers.slice(1)]
  const counts = countDeliveries([first, second, command], rest, [], [])
  assert.deepEqual([keepsPromises(counts), counts.unanswered, counts.unfinishedDrafts], [false, [textOf(first)], 1])
  assert.ok(keepsPromises(countDeliveries([first, second, command], rest, [textOf(first)], [])))
})

test('an answer that arrives twice breaks a promise unless the second one is labelled', () => {
  const again = shown('c1', 'the answer to effect c1n2.')
  const labelled = shown('c1', 'May be a duplicate: the answer to effect c1n2.')
  assert.deepEqual(countDeliveries([first, second], [...answers, again], [], []).unlabelled, ['c1n2'])
  const counts = countDeliveries([first, second, command], [...answers, labelled], [], [])
  assert.deepEqual([keepsPromises(counts), counts.labelled], [true, 1])
})

test('an effect that happens twice and an answer out of order are broken promises', () => {
  const counts = countDeliveries([first, second, command], answers.toReversed(), [], ['c1n2', 'c1n2'])
  assert.deepEqual([counts.effectsTwice, counts.inversions], [['c1n2'], ['c1n1 after 2']])
  assert.ok(!keepsPromises(counts))
})
