import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sweepQuestions } from '../../src/approvals/queries.ts'
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
