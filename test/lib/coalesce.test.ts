/**
 * Runs never overlap, and a run follows every change.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCoalescer } from '../../src/lib/coalesce.ts'

function fails(error: unknown): never {
  throw error
}

test('changes during a run cause one more run, however many there are', async () => {
  let state = 0
  const seen: number[] = []
  const first = Promise.withResolvers<void>()
  const latest = createCoalescer(async () => {
    seen.push(state)
    if (seen.length === 1) await first.promise
  }, fails)
  for (state = 1; state < 10; state++) latest.schedule()
  first.resolve()
  await latest.idle()
  assert.deepEqual(seen, [1, 10])
})

test('a failed run is reported, and the next change starts another run', async () => {
  const failures: unknown[] = []
  let broken = true
  let runs = 0
  const latest = createCoalescer(
    async () => {
      runs += 1
      if (broken) throw new Error('no room')
    },
    (error) => failures.push(error),
  )
  latest.schedule()
  await latest.idle()
  broken = false
  latest.schedule()
  await latest.idle()
  assert.deepEqual([runs, failures.length], [2, 1])
})
