import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addTraceEntry, pruneTrace } from '../../src/inbox/trace.ts'
import { query, rows } from '../../src/store/query.ts'
import { openStore } from '../kit/open-store.ts'

const all = query((db, _: Record<never, never>) => db.selectFrom('trace').select(['detail', 'at']).orderBy('id'))
const about = { session_key: 'k', turn_id: null }

test('a trace entry is limited in length and cut between characters', async (t) => {
  const { store } = openStore(t)
  await store.run(() => addTraceEntry(about, 'message:edited', `x${'😀'.repeat(2_000)}`, 1))
  const [found] = await store.run(() => rows(all, {}))
  assert.equal(found?.detail.length, 1_000)
  assert.ok(found?.detail.isWellFormed())
})

test('old trace entries are pruned in batches; recent ones stay', async (t) => {
  const { store } = openStore(t)
  for (const at of [1, 2, 3, 9]) await store.run(() => addTraceEntry(about, 'message:deleted', `${at}`, at))
  assert.equal(await store.run(() => pruneTrace(5, 2)), 2)
  assert.equal(await store.run(() => pruneTrace(5, 2)), 1)
  assert.equal(await store.run(() => pruneTrace(5, 2)), 0)
  assert.deepEqual(
    (await store.run(() => rows(all, {}))).map(({ at }) => at),
    [9],
  )
})
