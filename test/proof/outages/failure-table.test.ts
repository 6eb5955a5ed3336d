import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureKinds } from './failure-kinds.ts'
import { runFailureTable } from './failure-table.ts'

test('each kind of failure of a model server is retried, waited for or explained as it should be', async () => {
  const rows = await runFailureTable()
  assert.ok(failureKinds.length >= 64)
  assert.deepEqual(
    rows.filter(({ expected, found }) => expected !== found),
    [],
  )
  assert.ok(rows.every(({ found, calls }) => (found === 'fails' ? calls === 1 : calls >= 1)))
})
