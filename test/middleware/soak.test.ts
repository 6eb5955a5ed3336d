import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSoundSoak, soakCalls } from './soak.ts'

test('calls at once in many scopes: none sees another scope, each start has its end, and no scope stays in memory', async () => {
  const result = await soakCalls({ scopes: 40, callsEach: 10, rounds: 2 })
  assert.ok(isSoundSoak(result), JSON.stringify(result))
  assert.equal(result.starts, 2 * 40 * (1 + 10 * 2))
})
