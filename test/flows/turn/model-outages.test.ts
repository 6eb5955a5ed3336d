import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextAttemptAt } from '../../../src/flows/turn/model-outages.ts'

const settings = { outage_patience: 1800, retry_window: 120 }

/** The pauses in seconds of an outage that does not end. */
function pauses(retryAfterMs?: number): number[] {
  const found: number[] = []
  let now = 120_000
  for (let next = at(now, retryAfterMs); next !== null; next = at(now)) {
    found.push((next - now) / 1_000)
    now = next
  }
  return found
}

const at = (now: number, retryAfterMs?: number) => nextAttemptAt({ since: 0, retryAfterMs }, settings, now)

test('the pauses of a turn that waits grow until the patience is over', () => {
  assert.deepEqual(pauses(), [30, 60, 120, 240, 300, 300, 300, 300, 30])
})

test('the delay that a server requests is respected', () => {
  assert.equal(pauses(600_000)[0], 600)
})

test('a turn does not wait for a server that asks for more time than its patience', () => {
  assert.deepEqual(pauses(3_600_000), [])
})

test('without patience a turn does not wait', () => {
  assert.equal(nextAttemptAt({ since: 0, retryAfterMs: undefined }, { outage_patience: 0, retry_window: 120 }, 0), null)
})
