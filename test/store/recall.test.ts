import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ChatMessage } from '../../src/message/transcript.ts'
import { branchSession, withdrawFrom } from '../../src/sessions/conversation-edits.ts'
import { beginEpoch, type EpochOptions, startNewSession } from '../../src/sessions/session-state.ts'
import { appendMessage, nextOrdinal, readTranscript, supersedeTurn } from '../../src/sessions/transcript.ts'
import { applyCompression } from '../../src/sessions/transcript-compression.ts'
import { createRecall, type RecallThreadRequest } from '../../src/store/sqlite/recall.ts'
import { parseRecallQuery } from '../../src/store/sqlite/recall-query.ts'
import { openStore } from '../kit/open-store.ts'

const scope = { sessionKey: 'k' }
const signal = new AbortController().signal
const visit = (newSessionId: string, key = 'k'): EpochOptions => ({
  key,
  source: '{}',
  platform: 'web',
  userId: 'u',
  newSessionId,
  now: 10,
})

function library(t: TestContext) {
  const { store, path } = openStore(t)
  const recall = createRecall(path)
  const append = (sessionId: string, message: ChatMessage, turnId: string | null = null) =>
    store.run(function* () {
      const ord = yield* nextOrdinal(sessionId)
      yield* appendMessage({ sessionId, turnId, ord, message }, 1_000 + ord)
      return ord
    })
  return {
    store,
    append,
    begin: (id: string) => store.run(() => startNewSession(visit(id), `title of ${id}`)),
    say: (sessionId: string, content: string) => append(sessionId, { role: 'user', content }),
    async discover(query: string, more: Partial<Extract<RecallThreadRequest, { kind: 'discover' }>> = {}) {
      const answer = await recall.read(
        { kind: 'discover', scope, current: '', query, roles: 'user,assistant', sort: 'relevance', limit: 10, ...more },
        signal,
      )
      assert.ok(answer.kind === 'discover')
      return answer.results
    },
    read: (session: string, around: number | null, window = 5) =>
      recall.read({ kind: 'read', scope, current: '', session, around, window }, signal),
  }
}

test('no query raises an error, whatever signs it contains', async (t) => {
  const { begin, say, discover } = library(t)
  await begin('s')
  await say('s', 'say "hello" AND goodbye NEAR the content: C++ (really) ^start -minus * => 100%')
  const oddities = ['"', '""', '"hello', 'AND', 'OR OR OR', 'NOT', 'NOT hello', 'NEAR(hello goodbye, 2)', '*', '***']
  const more = [
    'content:hello',
    '{content}: hello',
    '^say',
    '(((',
    "'; drop table messages; --",
    '\0',
    'hello\0',
    '\ud800',
  ]
  const long = [Array.from({ length: 2_000 }, () => 'hello').join(' '), 'x'.repeat(100_000), ' ', '', '%', '_', '\\']
  for (const query of [...oddities, ...more, ...long]) await discover(query)
  for (const query of [
    '"hello"',
    'goodbye hello',
    'c++',
    '^start',
    '=>',
    '100%',
    'hel*',
    'hello OR nonsense',
    'absent hello',
  ])
    assert.equal((await discover(query)).length, 1, query)
  for (const query of ['nothing', 'hello NOT goodbye', '"goodbye hello"', '%%'])
    assert.equal((await discover(query)).length, 0, query)
})

test('words are translated into quoted terms', () => {
  const expressions = (query: string) => parseRecallQuery(query).expressions
  assert.deepEqual(expressions('red "big roses" deploy*'), [
    '("red" AND "big roses" AND "deploy"*)',
    '("red" OR "big roses" OR "deploy"*)',
  ])
  assert.deepEqual(expressions('a OR b NOT c'), ['("a") OR (("b") NOT ("c"))', '(("a" OR "b") NOT ("c"))'])
  assert.deepEqual(parseRecallQuery('東京 50%_').texts, ['東京', '50%_'])
})

test('a beginning stands for the most frequent words of the index that begin so, in any case and with any accent', async (t) => {
  const known = (beginning: string) => (beginning === 'wor' ? ['word', 'world'] : [])
  assert.deepEqual(parseRecallQuery('wor* NOT deploy*', known).expressions, ['((("word" OR "world")) NOT ("deploy"*))'])
  assert.deepEqual(parseRecallQuery('new-wor*', known).expressions, ['(("new-word" OR "new-world"))'])
  const { begin, say, discover } = library(t)
  for (const id of ['rare', 'often', 'also', 'other']) await begin(id)
  await say('rare', Array.from({ length: 300 }, (_, at) => `wor${at}`).join(' '))
  await say('often', 'a new World')
  await say('also', 'the wörld')
  await say('other', 'tulips')
  const found = async (query: string) => (await discover(query)).map(({ session }) => session).sort()
  for (const query of ['wor*', 'WÖR*']) assert.deepEqual(await found(query), ['also', 'often', 'rare'], query)
  assert.deepEqual(await found('new wor*'), ['often'])
})

test('words of Chinese, Japanese, Korean and Thai are found inside of a text without spaces', async (t) => {
  const { begin, say, discover } = library(t)
  const texts = {
    zh: '我们明天去东京旅行',
    ja: '明日は新幹線で東京に行く',
    ko: '내일 학교에서 만나요',
    th: 'พรุ่งนี้ไปเชียงใหม่',
  }
  for (const [id, content] of Object.entries(texts)) {
    await begin(id)
    await say(id, content)
  }
  const found = async (query: string) => (await discover(query)).map(({ session }) => session)
  assert.deepEqual(await found('东京'), ['zh'])
  assert.deepEqual(await found('東京 新幹線'), ['ja'])
  assert.deepEqual(await found('학교'), ['ko'])
  assert.deepEqual(await found('เชียงใหม่'), ['th'])
  assert.deepEqual(await found('東京 旅行'), ['ja', 'zh'], 'any of the words, where not all occur')
})

test('a conversation gives one hit, with five messages around it and three at each end', async (t) => {
  const { begin, append, discover } = library(t)
  await begin('s')
  for (let at = 0; at < 30; at++)
    await append('s', { role: at % 2 === 0 ? 'user' : 'assistant', content: `line ${at}${at === 15 ? ' tulips' : ''}` })
  await append('s', { role: 'user', content: 'tulips' })
  const [hit, ...others] = await discover('tulips', { sort: 'oldest' })
  assert.ok(hit)
  assert.deepEqual(others, [])
  const lines = (rows: readonly { content: string }[]) => rows.map(({ content }) => content)
  assert.deepEqual(
    lines(hit.view.rows).map((line) => line.split(' ')[1]),
    Array.from({ length: 11 }, (_, at) => `${at + 10}`),
  )
  assert.deepEqual([hit.view.before, hit.view.after], [5, 5])
  assert.deepEqual(lines(hit.start), ['line 0', 'line 1', 'line 2'])
  assert.deepEqual(lines(hit.end), ['line 28', 'line 29', 'tulips'])
  assert.equal(hit.snippet, 'line 15 «tulips»')
  assert.equal((await discover('tulips', { sort: 'newest' }))[0]?.snippet, '«tulips»')
})

test('what was taken back and what a failed turn left is not found, nor shown around a hit', async (t) => {
  const { store, begin, say, append, discover } = library(t)
  await begin('s')
  await say('s', 'tulips first')
  await append('s', { role: 'user', content: 'tulips of a failed turn' }, 'failed')
  await say('s', 'index the failed turn')
  await store.run(() => supersedeTurn('s', 'failed'))
  const ord = await say('s', 'tulips taken back')
  await store.run(() => withdrawFrom('s', ord))
  const [hit] = await discover('tulips')
  assert.deepEqual(
    hit?.view.rows.map(({ content }) => content),
    ['tulips first', 'index the failed turn'],
  )
  assert.deepEqual(await discover('"taken back"'), [])
  assert.deepEqual(await discover('"of a failed turn"'), [])
})

test('what a compression has replaced is found and shown as it was, and the summary is not', async (t) => {
  const { store, append, discover } = library(t)
  const { epoch } = await store.run(() => beginEpoch(visit('s')))
  const call = { id: 'c', name: 'look', arguments: '{}' }
  await append('s', { role: 'user', content: 'plant tulips' })
  await append('s', { role: 'assistant', content: 'looking', toolCalls: [call] })
  await append('s', { role: 'tool', toolCallId: 'c', name: 'look', content: 'tulips are in the shed' })
  await append('s', { role: 'assistant', content: 'in the shed' })
  const lines = await store.run(() => readTranscript('s'))
  const cleared: ChatMessage = { role: 'tool', toolCallId: 'c', name: 'look', content: 'cleared' }
  const edits = {
    clearedResults: [{ at: 2, message: cleared }],
    summary: { from: 0, to: 1, message: { role: 'user' as const, content: 'record: tulips' } },
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 },
  }
  await store.run(() => applyCompression({ sessionKey: 'k', epoch }, 's', lines, edits, 5_000))
  // The model that asks reads this session, without what was replaced.
  const found = await discover('tulips', { current: 's', roles: 'user,assistant,tool', sort: 'oldest' })
  assert.deepEqual(
    found.map(({ snippet }) => snippet),
    ['plant «tulips»'],
  )
  assert.deepEqual(
    found[0]?.view.rows.map(({ content }) => content),
    ['plant tulips', 'looking', 'tulips are in the shed', 'in the shed'],
  )
  assert.deepEqual(await discover('record', { current: 's' }), [])
  assert.deepEqual(await discover('"in the shed"', { current: 's' }), [], 'the model reads it already')
})

test('a branch is the same conversation as its original, and what was copied into it is in view', async (t) => {
  const { store, begin, say, discover } = library(t)
  await begin('s')
  await say('s', 'plant tulips')
  await store.run(() => branchSession(visit('branch'), 's', 'branch'))
  await say('branch', 'more tulips')
  assert.equal((await discover('tulips')).length, 1)
  assert.deepEqual(await discover('tulips', { current: 'branch' }), [])
  await begin('next')
  const [hit] = await discover('"more tulips"', { current: 'next' })
  assert.deepEqual([hit?.session, hit?.root], ['branch', 's'])
})

test('a message is read with those around it, and only in its own conversation', async (t) => {
  const { begin, say, read, store } = library(t)
  await begin('s')
  for (let at = 0; at < 60; at++) await say('s', `line ${at}`)
  await begin('other')
  await store.run(() => startNewSession(visit('hidden', 'another key'), ''))
  await say('hidden', 'not yours')
  const whole = await read('s', null)
  assert.ok(whole.kind === 'read')
  assert.deepEqual([whole.view.rows.length, whole.end.length, whole.session.messages], [20, 10, 60])
  const anchor = whole.view.rows[10]?.id ?? 0
  const window = await read('s', anchor, 2)
  assert.ok(window.kind === 'read')
  assert.deepEqual(
    window.view.rows.map(({ content }) => content),
    ['line 8', 'line 9', 'line 10', 'line 11', 'line 12'],
  )
  for (const [session, around] of [
    ['other', anchor],
    ['absent', null],
    ['s', 1_000_000],
    ['hidden', null],
    ['hidden', 61],
  ] as const)
    assert.equal((await read(session, around)).kind, 'absent', `${session} ${around}`)
})
