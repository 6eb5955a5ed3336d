/**
 * The bundled memory without a service: facts are found by their words, belong to one person, and survive a restart.
 */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { createFactStore } from '../../../plugins/memory/local/fact-store.ts'
import { searchExpression } from '../../../plugins/memory/local/search-expression.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'

function openFacts(t: TestContext, { path = join(tempHome(t), 'memories', 'facts.db'), maxFacts = 100 } = {}) {
  const store = createFactStore(
    path,
    () => maxFacts,
    () => 1_700_000_000_000,
  )
  return {
    store,
    path,
    texts: (scope: string, query: string) => store.search(scope, query, 10).map(({ text }) => text),
  }
}

test('a fact is found by one of its words, in any case and form, and by its person only', (t) => {
  const { store, texts } = openFacts(t)
  store.add('web:ada', 'The spare key is in the drawer.')
  store.add('web:ada', 'Ada flies to Zürich every Monday.')
  store.add('web:bob', 'Bob keeps his key under the mat.')
  assert.deepEqual(texts('web:ada', 'Where is my KEY?'), ['The spare key is in the drawer.'])
  assert.deepEqual(texts('web:ada', 'Is there anything in zurich?'), ['Ada flies to Zürich every Monday.'])
  assert.deepEqual(texts('web:ada', 'What is on Mond'), ['Ada flies to Zürich every Monday.'])
  assert.deepEqual(texts('web:ada', 'ring'), [])
  assert.deepEqual(texts('web:eve', 'key'), [])
  store.close()
})

test('text that is garbage for a full-text search finds nothing and fails nothing', (t) => {
  const { store, texts } = openFacts(t)
  store.add('web:ada', 'The spare key is in the drawer.')
  for (const query of [
    '',
    '"',
    'AND',
    'key" OR *',
    '(((',
    'text:key NEAR(',
    '\0',
    '🔑',
    'NOT',
    "'; DROP TABLE facts; --",
  ])
    assert.ok(Array.isArray(texts('web:ada', query)), query)
  assert.deepEqual(texts('web:ada', 'drawer'), ['The spare key is in the drawer.'])
  assert.equal(searchExpression('what is the'), '')
  assert.equal(searchExpression('Key drawer drawer'), '"key" OR "drawer"*')
  store.close()
})

test('a fact is stored once, within its limits, and only its person deletes it', (t) => {
  const { store, texts } = openFacts(t, { maxFacts: 2 })
  const first = store.add('web:ada', ' likes tea ')
  assert.deepEqual(store.add('web:ada', 'likes tea'), { stored: false, reason: 'duplicate' })
  assert.deepEqual(store.add('web:ada', '\n'), { stored: false, reason: 'empty' })
  assert.deepEqual(store.add('web:ada', 'x'.repeat(2_001)), { stored: false, reason: 'too_long' })
  assert.equal(store.add('web:ada', 'likes cake').stored, true)
  assert.deepEqual(store.add('web:ada', 'likes jam'), { stored: false, reason: 'full' })
  assert.equal(store.add('web:bob', 'likes jam').stored, true)
  assert.ok(first.stored)
  assert.equal(store.remove('web:bob', first.id), false)
  assert.equal(store.remove('web:ada', first.id), true)
  assert.deepEqual(texts('web:ada', 'tea'), [])
  store.close()
})

test('facts of a file with the index of an earlier version are found', (t) => {
  const path = join(tempHome(t), 'facts.db')
  const old = new DatabaseSync(path)
  old.exec(`CREATE TABLE facts (id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, text TEXT NOT NULL,
    stored_at INTEGER NOT NULL, UNIQUE (scope, text)) STRICT;
    CREATE VIRTUAL TABLE facts_text USING fts5 (text, content = 'facts', content_rowid = 'id');
    INSERT INTO facts (scope, text, stored_at) VALUES ('web:ada', 'The key is in the drawer', 0), ('web:ada:2', 'A key', 0)`)
  old.close()
  const store = createFactStore(
    path,
    () => 10,
    () => 0,
  )
  t.after(() => store.close())
  assert.deepEqual(
    store.search('web:ada', 'which key?', 5).map(({ text }) => text),
    ['The key is in the drawer'],
  )
})

test('the facts survive a restart in a file that only its owner can read', (t) => {
  const { store, path } = openFacts(t)
  store.add('web:ada', 'likes tea')
  store.close()
  const again = openFacts(t, { path })
  assert.deepEqual(again.texts('web:ada', 'tea'), ['likes tea'])
  assert.equal(statSync(path).mode & 0o077, 0)
  again.store.close()
})

test('the agent stores a fact with a tool, and it is recalled in the next conversation', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { memory: { provider: 'local' }, roles: { owners: ['fake:ada'] } },
    replies: [
      { toolCalls: [{ name: 'facts_store', arguments: { fact: 'The key is in the drawer.' } }] },
      { text: 'Stored.' },
      { text: 'In the drawer.' },
    ],
  })
  await gateway.say('Please remember: the key is in the drawer.', { user: 'ada' })
  await gateway.waitForReply('Stored.')
  await gateway.say('/new', { user: 'ada' })
  await gateway.say('Where is the key?', { user: 'ada' })
  await gateway.waitForReply('In the drawer.')
  const body = JSON.stringify((await gateway.modelRequest(2)).body)
  assert.match(body, /<memory-context>[^<]*\\n- The key is in the drawer\.\\n<\/memory-context>/)
  await gateway.say('Where is the key?', { user: 'ada', chat: 'club', chatType: 'group' })
  await gateway.waitForReply('You said', 'club')
  assert.doesNotMatch(JSON.stringify((await gateway.modelRequest(3)).body), /The key is in the drawer/)
})
