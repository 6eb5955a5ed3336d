import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { chatHistory, entryId } from '../../../src/flows/chat/chat-history.ts'
import { dropDeadEvent } from '../../../src/inbox/dead-letters.ts'
import { acceptEvent, markEventDead } from '../../../src/inbox/queries.ts'
import { insertRow } from '../../../src/outbox/queries.ts'
import { openStore } from '../../kit/open-store.ts'

const chat = { platform: 'web', account: 'default', chatId: 'c' }

function bookOf(t: TestContext) {
  const { store } = openStore(t)
  let names = 0
  const written = async (text: string, at: number, chatId = 'c') => {
    const payload = JSON.stringify({ text, messageId: `m ${text}` })
    const event = { ...chat, chatId, sessionKey: 'k', lane: 'turn', kind: 'text', payload } as const
    return (await store.run(() => acceptEvent(event, [`${names++}`], at))).seq
  }
  const answered = (text: string, at: number, kind: 'reply' | 'notice' = 'reply') =>
    store.run(() =>
      insertRow(
        {
          key: `${names++}`,
          platform: 'web',
          account: 'default',
          chat_id: 'c',
          thread_id: '',
          session_key: 'k',
          turn_id: 't',
          kind,
          op: 'send',
          target: null,
          text,
          reply_to: null,
          state: 'sent',
          platform_id: null,
        },
        at,
      ),
    )
  const read = (limit = 100, after?: string, before?: string) =>
    store.run(() => chatHistory(chat, { limit, after, before }, '/media'))
  return { store, written, answered, read }
}

test('a chat is read as users saw it: questions and replies in chronological order', async (t) => {
  const { written, answered, read } = bookOf(t)
  await written('hello', 1_000)
  await answered('hi', 1_001)
  await written('/stop', 1_002)
  await answered('Stopped.', 1_003, 'notice')
  await written('elsewhere', 1_004, 'another chat')
  const entries = await read()
  assert.deepEqual(
    entries.map(({ from, kind, text, at }) => `${from} ${kind} ${text} ${at}`),
    ['user message hello 1000', 'agent message hi 1001', 'user message /stop 1002', 'agent notice Stopped. 1003'],
  )
  assert.equal(entries[0]?.messageId, 'm hello')
  assert.equal(entries[1]?.turnId, 't')
})

test('at most the requested number of entries is returned, the newest ones', async (t) => {
  const { written, read } = bookOf(t)
  for (let at = 1; at <= 5; at++) await written(`line ${at}`, 1_000 + at)
  assert.deepEqual(
    (await read(2)).map(({ text }) => text),
    ['line 4', 'line 5'],
  )
})

test('a client that sends the id of its last entry gets the entries after it, also those of the same millisecond', async (t) => {
  const { written, answered, read } = bookOf(t)
  for (let part = 1; part <= 12; part++) await answered(`part ${part}`, 1_000)
  await written('later', 1_001)
  const all = await read()
  assert.deepEqual(
    all.map(({ text }) => text),
    [...Array.from({ length: 12 }, (_, part) => `part ${part + 1}`), 'later'],
    'parts of one answer keep their order',
  )
  for (const [index, entry] of all.entries()) assert.deepEqual(await read(100, entry.id), all.slice(index + 1))
})

test('a client that was away for a long time gets the missed entries from their beginning', async (t) => {
  const { written, answered, read } = bookOf(t)
  for (let at = 1; at <= 9; at++) await (at % 2 === 0 ? answered(`line ${at}`, at) : written(`line ${at}`, at))
  const seen = (await read())[1]?.id
  const missed = await read(3, seen)
  assert.deepEqual(
    missed.map(({ text }) => text),
    ['line 3', 'line 4', 'line 5'],
  )
})

test('many entries of the same millisecond are paged without duplicates and gaps', async (t) => {
  const { written, answered, read } = bookOf(t)
  for (let part = 1; part <= 6; part++) await answered(`part ${part}`, 1_000)
  await written('and a question', 1_000)
  const seen: string[] = []
  for (let last: string | undefined, more = true; more; ) {
    const entries = await read(2, last ?? '0-i0')
    seen.push(...entries.map(({ text }) => text))
    last = entries.at(-1)?.id
    more = entries.length > 0
  }
  assert.deepEqual(seen, ['and a question', ...Array.from({ length: 6 }, (_, part) => `part ${part + 1}`)])
})

test('older entries can be read page by page', async (t) => {
  const { written, answered, read } = bookOf(t)
  for (let at = 1; at <= 9; at++) await (at % 2 === 0 ? answered(`line ${at}`, at) : written(`line ${at}`, at))
  const newest = await read(4)
  const older = await read(4, undefined, newest[0]?.id)
  const oldest = await read(4, undefined, older[0]?.id)
  assert.deepEqual(
    [...oldest, ...older, ...newest].map(({ text }) => text),
    Array.from({ length: 9 }, (_, index) => `line ${index + 1}`),
  )
})

test('a dropped message is not shown; a dead letter is', async (t) => {
  const { store, written, read } = bookOf(t)
  const gone = await written('gone', 1_000)
  const dead = await written('dead letter', 1_001)
  const outcome = {
    status: 'failed',
    text: '',
    sessionId: '',
    model: '',
    usage: { inputTokens: 0, outputTokens: 0 },
  } as const
  for (const seq of [gone, dead]) await store.run(() => markEventDead(seq, 'x', outcome))
  await store.run(() => dropDeadEvent(gone))
  assert.deepEqual(
    (await read()).map(({ text }) => text),
    ['dead letter'],
  )
})

test('ids of entries sort as text in the order of time and row', () => {
  const time = fc.integer({ min: 1_000_000_000_000, max: 9_999_999_999_999 })
  const row = fc.integer({ min: 1, max: 999_999_999 })
  fc.assert(
    fc.property(time, time, row, row, (at, later, one, other) => {
      if (at !== later) assert.equal(entryId(at, 'o', one) < entryId(later, 'i', other), at < later)
      if (one !== other) assert.equal(entryId(at, 'i', one) < entryId(at, 'i', other), one < other)
    }),
  )
})
