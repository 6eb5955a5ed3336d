import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passesSoak, soakCalls } from './soak.ts'

test('calls at once in many scopes: none sees another scope, each start has its end, and no scope stays in memory', async () => {
  const result = await soakCalls({ scopes: 40, callsPerScope: 10, rounds: 2 })
  assert.ok(passesSoak(result), JSON.stringify(result))
  assert.equal(result.starts, 2 * 40 * (1 + 10 * 2))
})
