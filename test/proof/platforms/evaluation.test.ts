/**
 * The evaluation itself: it must find each kind of broken promise.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SentMessage } from '../../crash/chat-server.ts'
import { type Episode, type Evidence, evaluate } from './evaluation.ts'
import type { TrackedMessage } from './message-log.ts'
import { rowsFor, wrongRows } from './rows.ts'

const done = Promise.resolve()

function asked(chat: string, number: number, more: Partial<TrackedMessage> = {}): TrackedMessage {
  const platform = chat.startsWith('t') ? 'telegram' : 'slack'
  return { platform, chat, number, kind: 'plain', at: number, alone: true, tookMs: 10, answered: done, ...more }
}

function shown(chat: string, text: string, draft = false): SentMessage {
  return { id: `${chat}:${text}`, chat, text, draft }
}

const answer = (token: string) => shown(token.slice(0, 2), `the answer to plain ${token}.`)
const scenario: Episode = {
  platform: 'telegram',
  fault: '5xx',
  from: 100,
  to: 200,
  measures: 'reconnect',
  kills: false,
  firstAnswerMs: 50,
  caughtUpMs: 60,
}
const quiet: Episode = { ...scenario, fault: undefined, from: 0, to: 100, measures: 'nothing' }

/** A fault of Telegram from 100 to 200, in which every promise was kept. */
const good: Evidence = {
  messages: [asked('t3', 1), asked('t3', 2, { at: 150 }), asked('s3', 1), asked('s3', 2, { at: 150 })],
  sentMessages: new Map([
    ['telegram', [answer('t3n1'), answer('t3n2')]],
    ['slack', [answer('s3n1'), answer('s3n2')]],
  ]),
  longChars: new Map(),
  findsDrafts: new Set(['slack']),
  episodes: [quiet, scenario],
  rates: ['telegram', 'slack'].map((platform) => ({ platform, earlyCalls: 0, earlyAfterKills: 0, lateMs: [100] })),
  outboxDeadLetters: [],
  inboxDeadLetters: [],
  seconds: 1,
}

test('with every message answered once and in time, every promise was kept', () => {
  const { kept, platforms, episodes } = evaluate(good)
  assert.deepEqual([kept, platforms.map(({ answered }) => answered)], [true, [2, 2]])
  const [, during] = episodes
  assert.deepEqual([during?.messageCount, during?.lost, during?.othersP95], [1, 0, 10])
})

const telegramShows = (messages: SentMessage[]) => new Map([...good.sentMessages, ['telegram', messages]])
const firstRate = (change: Partial<Evidence['rates'][number]>) =>
  good.rates.map((rate, index) => (index === 0 ? { ...rate, ...change } : rate))

for (const [what, change] of Object.entries<Partial<Evidence>>({
  'a missing answer': { sentMessages: telegramShows([answer('t3n1')]) },
  'an answer that is only a draft': {
    sentMessages: telegramShows([answer('t3n1'), { ...answer('t3n2'), draft: true }]),
  },
  'a duplicate answer': { sentMessages: telegramShows([answer('t3n1'), answer('t3n2'), answer('t3n2')]) },
  'an answer out of order': { sentMessages: telegramShows([answer('t3n2'), answer('t3n1')]) },
  'a dead letter of the outbox': { outboxDeadLetters: ['telegram: the answer'] },
  'a call before the end of a rate limit': { rates: firstRate({ earlyCalls: 1 }) },
  'a call long after the end of a rate limit': { rates: firstRate({ lateMs: [101] }) },
  'a slow reconnect': { episodes: [quiet, { ...scenario, firstAnswerMs: 10_001 }] },
  'a missing reconnect': {
    episodes: [quiet, { ...scenario, measures: 'reconnect', firstAnswerMs: Number.POSITIVE_INFINITY }],
  },
  'a fault that delays other platforms': {
    messages: good.messages.map((one) => (one.platform === 'slack' && one.at > 100 ? { ...one, tookMs: 61 } : one)),
  },
})) {
  test(`${what} is a broken promise`, () => {
    assert.equal(evaluate({ ...good, ...change }).kept, false)
  })
}

test('an unfinished draft is a broken promise only where a lost draft can be found', () => {
  for (const [platform, chat, kept] of [
    ['slack', 's3', false],
    ['telegram', 't3', true],
  ] as const) {
    const unfinished = shown(chat, 'This answer has many ▉', true)
    const messages = [...(good.sentMessages.get(platform) ?? []), unfinished]
    const sentMessages = new Map([...good.sentMessages, [platform, messages]])
    assert.equal(evaluate({ ...good, sentMessages }).kept, kept)
  }
})

test('a labelled repetition of an answer is counted for its episode', () => {
  const again = shown('t3', '♻️ May be a duplicate:\n\nthe answer to plain t3n2.')
  const { kept, episodes, platforms } = evaluate({
    ...good,
    sentMessages: telegramShows([answer('t3n1'), answer('t3n2'), again]),
  })
  assert.deepEqual([kept, platforms[0]?.labelled, episodes[1]?.labelled, episodes[0]?.labelled], [true, 1, 1, 0])
})

test('missing and repeated rows of a long answer are reported, unless their message is labelled', () => {
  const long = { chat: 't3', number: 1, kind: 'long' } as const
  const rows = rowsFor('t3n1', 100)
  assert.equal(rows.length, 3)
  const [first = '', second = '', third = ''] = rows
  const says = (...messages: string[]) =>
    wrongRows(
      [long],
      messages.map((text) => shown('t3', text)),
      100,
    )
  assert.deepEqual(says(`${first}\n${second}`, third), [])
  assert.deepEqual(says(first, third, third), ['t3n1: row 2 is missing', 't3n1: row 3 arrived 2 times'])
  assert.deepEqual(says(`${first}\n${second}`, third, '♻️ May be a duplicate:', third), [])
  assert.deepEqual(says(`${first}\n${second}`, third, `♻️ May be a duplicate:\n\n${third}`), [])
})
