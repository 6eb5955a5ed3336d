import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { insertRow, storeDeliveryResult } from '../../src/outbox/queries.ts'
import { messagesOfSession } from '../../src/sessions/session-queries.ts'
import { appendMessage, readTranscript } from '../../src/sessions/transcript.ts'
import { beginTurn, endTurn } from '../../src/sessions/turns.ts'
import type { OutboxState } from '../../src/store/schema.ts'
import { openReader, type StoreReader } from '../../src/store/sqlite/reader.ts'
import type { Store } from '../../src/store/store.ts'
import { openStore } from '../kit/open-store.ts'
import { tempHome } from '../kit/temp-home.ts'

function libraryOf(t: TestContext): { store: Store; reader: StoreReader; say(text: string): Promise<void> } {
  const { store, path } = openStore(t)
  const reader = openReader(path)
  t.after(() => reader.close())
  let ord = 0
  const say = (content: string) =>
    store.run(() =>
      appendMessage({ sessionId: 's', turnId: null, ord: ord++, message: { role: 'user', content } }, 1_000 + ord),
    )
  return { store, reader, say }
}

test('search ignores accents and case', async (t) => {
  const { reader, say } = libraryOf(t)
  await say('Wir treffen uns im Café in Zürich')
  await say('nothing of interest')
  for (const text of ['cafe', 'ZURICH', 'zürich café', 'Cafe\u0301']) {
    const found = reader.search(text, 10)
    assert.equal(found.length, 1, text)
    assert.deepEqual({ ...found[0], excerpt: '' }, { sessionId: 's', role: 'user', at: 1_001, excerpt: '' })
  }
  assert.match(reader.search('cafe', 10)[0]?.excerpt ?? '', /im «Café» in Zürich/)
})

test('search input is never interpreted as query syntax', async (t) => {
  const { reader, say } = libraryOf(t)
  await say('say "hello" AND goodbye NEAR the content: C++ (really) ^start -minus * a\0b')
  const oddities = [
    '"',
    '""',
    '"hello',
    'hello"',
    'AND',
    'hello AND goodbye',
    'NOT hello',
    'OR OR OR',
    'NEAR(hello goodbye, 2)',
    'hel*',
    '*',
    '***',
    'content:hello',
    'content : C',
    '{content}: hello',
    '^say',
    '-minus',
    'C++',
    '(((',
    "'; drop table messages; --",
    '\0',
    'hello\0',
    '\ud800',
    '  ',
    '',
    Array.from({ length: 2_000 }, () => 'hello').join(' '),
    'x'.repeat(100_000),
  ]
  for (const text of oddities) assert.doesNotThrow(() => reader.search(text, 10), text.slice(0, 40))
  for (const text of ['"hello"', 'hello" "goodbye', 'AND', 'near', 'content', 'c++', '^start', '-minus', 'a\0b']) {
    assert.equal(reader.search(text, 10).length, 1, text)
  }
  for (const text of ['NOT hello', 'hel*', 'hello OR nonsense', '', ' ', '***']) {
    assert.equal(reader.search(text, 10).length, 0, text)
  }
})

test('search returns at most the requested number of results, the best match first', async (t) => {
  const { reader, say } = libraryOf(t)
  await say('apple among very many other words that make it a weaker match for the search than the short one')
  await say('apple')
  await say('apple pie')
  const found = reader.search('apple', 2)
  assert.equal(found.length, 2)
  assert.equal(found[0]?.excerpt, '«apple»')
})

test('a text above 64 kB is stored completely, is found by its beginning and is truncated in lists', async (t) => {
  const { store, reader, say } = libraryOf(t)
  const text = `rhinoceros ${'lorem ipsum 😀 '.repeat(8_000)} hippopotamus`
  await say(text)
  const [line] = await store.run(() => readTranscript('s'))
  assert.equal(line?.message.content, text)
  assert.equal(reader.search('rhinoceros', 10).length, 1)
  assert.equal(reader.search('hippopotamus', 10).length, 0)
  const [listed] = reader.rows(messagesOfSession, { session_id: 's' })
  assert.ok((listed?.content.length ?? 0) <= 65_536)
  assert.equal(listed?.body, text)
})

test('the first 64 kB of a long text end at a character boundary', async (t) => {
  const { store, say } = libraryOf(t)
  const text = `x${'😀'.repeat(40_000)}`
  await say(text)
  const [line] = await store.run(() => readTranscript('s'))
  assert.equal(line?.message.content, text)
})

test('a reader works during a transaction of the writer and sees its changes after the commit', async (t) => {
  const { store, reader, say } = libraryOf(t)
  await say('before')
  const append = (ord: number) =>
    appendMessage({ sessionId: 's', turnId: null, ord, message: { role: 'user', content: 'during' } }, 1)
  await store.run(function* () {
    yield* append(10)
    assert.equal(reader.search('during', 10).length, 0)
    yield* append(11)
  })
  assert.equal(reader.search('during', 10).length, 2)
  assert.equal(reader.search('before', 10).length, 1)
})

test('a reader cannot change anything', async (t) => {
  const { reader, say } = libraryOf(t)
  await say('kept')
  assert.throws(
    () => reader.rows({ build: () => ({ sql: 'delete from messages', parameters: [] }) }, {}),
    (error) => isHermesError(error, 'store/failed'),
  )
  assert.equal(reader.search('kept', 10).length, 1)
  assert.deepEqual(reader.checkIntegrity(), [])
})

test('a reader does not create a missing database', (t) => {
  const path = join(tempHome(t), 'state.db')
  for (let attempt = 0; attempt < 2; attempt++) {
    assert.throws(
      () => openReader(path),
      (error) => isHermesError(error, 'store/unavailable'),
    )
  }
})

/** Messages of turns, and the state of their replies. */
function turnsOf(t: TestContext) {
  const { store, path } = openStore(t)
  const reader = openReader(path)
  t.after(() => reader.close())
  let ord = 0
  const settled = { op: 'send', target: null, doubt: 0, tries: 0, due_at: 0, platform_id: 'm', error: null } as const
  return {
    path,
    hits: () => reader.search('apple', 100).length,
    say: (content: string, turnId: string | null) =>
      store.run(() => appendMessage({ sessionId: 's', turnId, ord: ord++, message: { role: 'user', content } }, 1_000)),
    begin: (id: string) =>
      store.run(() =>
        beginTurn({ id, sessionKey: id, sessionId: 's', epoch: 1, seq: 1, origin: '', authority: '', route: '' }, 1),
      ),
    end: (id: string) => store.run(() => endTurn(id, { state: 'failed', reason: null, model: '', provider: '' }, 2)),
    reply: (key: string, state: OutboxState) =>
      store.run(() => insertRow({ ...replyRow, key, state, turn_id: key }, 1)),
    settle: (id: number, state: OutboxState) => store.run(() => storeDeliveryResult({ ...settled, id, state }, 2)),
  }
}

const replyRow = {
  platform: 'p',
  account: 'a',
  chat_id: 'c',
  thread_id: '',
  session_key: null,
  kind: 'reply',
  op: 'send',
  target: null,
  text: 'x',
  reply_to: null,
  platform_id: null,
} as const

test('messages of a turn are found once when its reply is sent or queued', async (t) => {
  const { hits, say, begin, end, reply, settle } = turnsOf(t)
  await begin('one')
  await begin('other')
  await say('apple one', 'one')
  await say('', 'one')
  await end('one')
  const sending = await reply('one', 'sending')
  assert.ok(sending !== undefined)
  assert.equal(hits(), 0)
  await settle(sending, 'sent')
  assert.equal(hits(), 1)
  await say('apple two', 'other')
  await say('apple without reply', null)
  assert.equal(hits(), 3)
  await say('apple three', 'other')
  await end('other')
  await reply('other', 'queued')
  assert.equal(hits(), 4)
  await begin('silent')
  for (let line = 0; line < 51; line++) await say('apple again', 'silent')
  assert.equal(hits(), 4)
  await end('silent')
  assert.equal(hits(), 55)
})

test('removed messages are not found, whether they were indexed or not', async (t) => {
  const { path, hits, say, begin } = turnsOf(t)
  await begin('open')
  for (const turn of [null, null, 'open']) await say('apple', turn)
  const db = new DatabaseSync(path)
  t.after(() => db.close())
  db.exec('delete from messages where id > 1')
  assert.equal(hits(), 1)
  await say('apple again', null)
  assert.equal(hits(), 2)
  db.exec("insert into messages_fts (messages_fts, rank) values ('integrity-check', 1)")
})
