import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLossless, soakHooks } from './soak.ts'

test('while files are edited, hooks in all languages handle every event once and in order', async () => {
  const result = await soakHooks({ events: 500, edits: 5, kills: 0, seed: 7 })
  assert.ok(isLossless(result), JSON.stringify(result, null, 2))
  for (const { name, handled, failed } of result.hooks) assert.deepEqual([handled, failed], [500, 0], name)
})

test('while processes are killed, hooks handle every event at most once, and what is missing is counted', async () => {
  const result = await soakHooks({ events: 500, edits: 1, kills: 5, seed: 8 })
  assert.ok(isLossless(result), JSON.stringify(result, null, 2))
})
