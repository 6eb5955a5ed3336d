import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import {
  findQuestion,
  grantInSession,
  insertQuestion,
  isGrantedInSession,
  nextExpiry,
  overdueQuestions,
  resolveQuestion,
  sweepQuestions,
  waitingQuestions,
} from '../../src/approvals/queries.ts'
import { chatHistory } from '../../src/flows/chat/chat-history.ts'
import { createTurnJournal } from '../../src/flows/turn/journal.ts'
import { applyDeletion, applyEdit } from '../../src/inbox/apply-change.ts'
import { advanceCursor, listCursors } from '../../src/inbox/cursors.ts'
import { dropDeadEvent, listUnfinishedEvents, retryDeadEvent } from '../../src/inbox/dead-letters.ts'
import { createEventResults } from '../../src/inbox/inbox.ts'
import {
  acceptEvent,
  countQueuedEvents,
  listOpenEventsOfPlatform,
  listOpenQueues,
  markEventDead,
  pruneInbox,
} from '../../src/inbox/queries.ts'
import { countWaiting } from '../../src/inbox/waiting-messages.ts'
import { brand } from '../../src/lib/ids.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import type { SessionSource } from '../../src/message/source.ts'
import { noUsage } from '../../src/message/transcript.ts'
import { findButtonsMessageId } from '../../src/outbox/queries.ts'
import { listMessages, listSessions } from '../../src/sessions/session-list.ts'
import { countMessages, messagesOfSession, sessionById, sessionByKey } from '../../src/sessions/session-queries.ts'
import { startNewSession } from '../../src/sessions/session-state.ts'
import { freezePrompt } from '../../src/sessions/transcript.ts'
import { applyCompression } from '../../src/sessions/transcript-compression.ts'
import { pruneTurns, requestTurnStop, sessionsWithOpenTurns } from '../../src/sessions/turns.ts'
import { type Query, type QueryParams, rows, type Transaction } from '../../src/store/query.ts'
import type { Database } from '../../src/store/schema.ts'
import type { Store } from '../../src/store/store.ts'
import { ownerAuthority } from '../kit/authority.ts'
import { openStore } from '../kit/open-store.ts'
import { wrapStore } from '../kit/wrapped-store.ts'

type AnyQuery = Query<QueryParams, unknown>

/** A store that records every query. */
function recording(store: Store, seen: Set<AnyQuery>): Store {
  return wrapStore(store, { onQuery: ({ query }) => void seen.add(query) })
}

const builder = new Kysely<Database>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

function scansOf(db: DatabaseSync, query: AnyQuery): string[] {
  const { sql } = query.build(builder)
  const plan = db.prepare(`explain query plan ${sql}`).all()
  return plan
    .map((line) => String(line['detail']))
    .filter((detail) => /^SCAN (?!.*USING (COVERING )?INDEX)/.test(detail))
}

const nothing = { status: 'done', text: '', sessionId: '', model: '', usage: noUsage } as const

/** Every query that modules run while messages are received and sent. */
async function liveThrough(t: TestContext): Promise<{ queries: Set<AnyQuery>; path: string }> {
  const { store, path } = openStore(t)
  const queries = new Set<AnyQuery>()
  const watched = recording(store, queries)
  const key = brand<SessionKey>('k')
  const source = { platform: 'web', account: 'default', chatId: 'c', chatType: 'dm', userId: 'u' } as const
  const accept = (name: string) => {
    const payload = JSON.stringify({ source, text: name, messageType: 'text', timestamp: 1 })
    const event = {
      platform: 'web',
      account: 'default',
      chatId: 'c',
      sessionKey: key,
      lane: 'turn',
      kind: 'text',
    } as const
    return watched.run(() => acceptEvent({ ...event, payload }, [name, `alias of ${name}`], 1))
  }
  const journal = createTurnJournal({
    store: watched,
    clock: () => 1,
    isShared: () => false,
    authorityOf: () => ownerAuthority,
    routeOf: () => '',
    onProgress: () => undefined,
  })
  const end = { reason: null, model: '', provider: '', text: '', ord: 0, usage: noUsage } as const
  const reply = { write: () => freezePrompt('s', { text: 'x' }) }

  await accept('one')
  await accept('one')
  await accept('two')
  const claim = await journal.claim(key)
  assert.ok(claim?.kind === 'model')
  const writes = journal.journalOf(claim.turn)
  const call = { id: 'a', name: 'tool', arguments: '{}' }
  await writes.recordAssistantMessage(
    { role: 'assistant', content: 'x'.repeat(70_000), toolCalls: [call] },
    noUsage,
    true,
  )
  await writes.recordToolStart(call, 'effect')
  await watched.run(() => requestTurnStop(key))
  const again = await journal.claim(key)
  assert.ok(again?.kind === 'stopped')
  await assert.rejects(writes.recordToolResult(call, 'late', 'done'))
  await journal.finish(again.turn, { ...end, state: 'failed', deadLetter: true }, reply)
  const second = await journal.claim(key)
  assert.ok(second?.kind === 'model')
  const { fence, sessionId, transcript } = second.turn
  const summary = { from: 0, to: 1, message: { role: 'user', content: 'x' } } as const
  await watched.run(() =>
    applyCompression(fence, sessionId, transcript, { clearedResults: [], summary, usage: noUsage }, 1),
  )
  await journal.finish(second.turn, { ...end, state: 'done' }, reply)
  await watched.run(() => startNewSession({ key, source: '', platform: '', userId: '', newSessionId: 'n', now: 1 }, ''))
  await createEventResults(watched).wait(2, new AbortController().signal)
  await watched.run(() => retryDeadEvent(1, 1))
  await watched.run(() => markEventDead(1, '', nothing))
  await watched.run(() => dropDeadEvent(1))
  await watched.run(() => countQueuedEvents(key))
  await watched.run(() => countWaiting(key, 'turn', 'u'))
  await watched.run(listOpenQueues)
  await watched.run(() => listOpenEventsOfPlatform('background'))
  await watched.run(sessionsWithOpenTurns)
  for (const span of [{}, { after: '1-i1' }, { before: '1-i1' }]) {
    await watched.run(() => chatHistory(source, { ...span, limit: 10 }, '/media'))
  }
  for (const step of questionSteps(key, source)) await watched.run<unknown>(step)
  const event = { source, text: 'changed', messageType: 'text', timestamp: 1 } as const
  const change = {
    targetKey: 'three',
    event,
    lane: 'turn',
    policy: 'rerun',
    withdrawnResult: nothing,
    serialize: JSON.stringify,
  } as const
  await accept('three')
  await watched.run(() => applyEdit({ ...change, keys: ['edit 1'] }, 1))
  await watched.run(() =>
    applyEdit({ ...change, keys: ['edit 2'], event: { ...event, text: '/x' }, lane: 'control' }, 1),
  )
  await watched.run(() => applyDeletion({ ...change, keys: ['deletion'] }, 1))
  await journal.storeAttachments(3, [])
  await watched.run(() => advanceCursor(source, { place: 'c', id: '1' }, 1))
  await watched.run(() => listCursors(source))
  await watched.run(() => pruneInbox(2, 10))
  await watched.run(() => pruneTurns(2, 10))
  for (const listing of [
    rows(listUnfinishedEvents, { limit: 10 }),
    listSessions({}, { at: 1, id: 's' }, 10),
    listMessages('s', { all: false }, { ord: 1, id: 1 }, 'older', 10),
    listMessages('s', { all: false }, { ord: 1, id: 1 }, 'newer', 10),
    rows(sessionById, { id: 's' }),
    rows(messagesOfSession, { session_id: 's' }),
    rows(countMessages, { session_id: 's' }),
  ]) {
    await watched.run<unknown>(() => listing)
  }
  await store.close()
  return { queries, path }
}

/** Every query about questions and grants. */
function questionSteps(key: SessionKey, source: SessionSource): (() => Transaction<unknown>)[] {
  const unanswered = { says: '' }
  const question = {
    kind: 'clarify',
    sessionKey: key,
    source,
    text: '',
    choices: [],
    unanswered,
    timeoutMs: 1,
  } as const
  return [
    () => insertQuestion('q', question, true, 1),
    () => findQuestion('q'),
    () => waitingQuestions(key),
    () => overdueQuestions(1, 10),
    () => nextExpiry(),
    () => resolveQuestion('q', null, 1),
    () => grantInSession(key, 'rule', 'u', 1),
    () => isGrantedInSession(key, 'rule'),
    () => findButtonsMessageId('question:q'),
    () => sweepQuestions(2, 10),
  ]
}

test('no query on the path of a message scans a whole table', async (t) => {
  const { queries, path } = await liveThrough(t)
  assert.ok(queries.size > 35, `only ${queries.size} queries were seen`)
  const db = new DatabaseSync(path, { readOnly: true })
  t.after(() => db.close())
  const scans = [...queries].flatMap((query) =>
    scansOf(db, query).map((scan) => `${scan}: ${query.build(builder).sql}`),
  )
  assert.deepEqual(scans, [])
})

test('a query that scans a whole table is detected', async (t) => {
  const { path, store } = openStore(t)
  await store.close()
  const db = new DatabaseSync(path, { readOnly: true })
  t.after(() => db.close())
  assert.equal(
    scansOf(db, { build: () => ({ sql: 'select * from inbox where state in (?, ?)', parameters: [] }) }).length,
    1,
  )
  assert.equal(scansOf(db, sessionByKey).length, 1, 'the command line may, on a connection of its own')
})
