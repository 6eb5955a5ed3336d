import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soakCalls } from './soak.ts'

// `npm run proof` also checks the memory after a soak, which depends on the garbage collector.
test('concurrent calls in many scopes see only their own scope, and each start event has its end event', async () => {
  const result = await soakCalls({ scopes: 40, callsPerScope: 10, rounds: 2 })
  assert.deepEqual([result.failedCalls, result.mismatchedEvents, result.dropped], [0, 0, 0])
  assert.equal(result.starts, 2 * 40 * (1 + 10 * 2))
})
