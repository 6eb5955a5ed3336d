import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantInSession, grantUntilEnd, listGrants, sweepQuestions } from '../../src/approvals/queries.ts'
import { exec, query, rows } from '../../src/store/query.ts'
import { openQuestions } from './support.ts'

test('resolved questions are deleted after a while, open ones are not', async (t) => {
  const { store, clock, ask, press, states } = openQuestions(t)
  for (let count = 0; count < 3; count += 1) await ask({ kind: 'approval', timeoutMs: 604_800_000 })
  await press('appr:q1:once')
  await press('appr:q2:once')
  const sweep = (limit: number) => store.run(() => sweepQuestions(clock.now(), limit))
  assert.equal(await sweep(10), 0, 'too recent')
  clock.advance(10)
  assert.equal(await sweep(1), 1, 'at most the limit')
  assert.equal(await sweep(10), 1)
  assert.deepEqual(
    states().map(({ id, state }) => [id, state]),
    [['q3', 'waiting']],
  )
})

test('the list of what runs without a question has nothing of ended sessions', async (t) => {
  const { store } = openQuestions(t)
  const session = { session_key: 'k', platform: 'chat', user_id: 'u7', title: '', created_at: 1, updated_at: 1 }
  const addSession = query((db, p: { id: string; ended_at: number | null }) =>
    db.insertInto('sessions').values({ ...session, id: p.id, ended_at: p.ended_at }),
  )
  const listed = await store.run(function* () {
    yield* exec(addSession, { id: 's1', ended_at: 2 })
    yield* exec(addSession, { id: 's2', ended_at: null })
    yield* grantUntilEnd('s1', 'tool:a', 'u7', 1)
    yield* grantUntilEnd('s2', 'tool:b', 'u7', 1)
    yield* grantInSession('s1', 'tool:c', 'u7', 1)
    return yield* rows(listGrants, { limit: 10 })
  })
  assert.deepEqual(
    listed.map(({ rule }) => rule),
    ['tool:c', 'tool:b'],
  )
})
