import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { settingsWith } from '../../agent/in-memory-deps.ts'
import { runLongOutage } from './long-outage.ts'
import { outageKinds, runOutage } from './outage.ts'

// Most of the time they wait.
describe('every message is answered across an outage', { concurrency: true }, () => {
  for (const kind of outageKinds) {
    test(kind, async () => {
      const agent = 'retry_window: 8, outage_patience: 60'
      const { answered, errors } = await runOutage({ kind, messages: 4, outageMs: 1_000, agent, limitMs: 60_000 })
      assert.deepEqual({ answered, errors }, { answered: 4, errors: [] })
    })
  }
})

const { agent } = settingsWith()

for (const kind of ['rate-limit', 'overloaded', 'network', 'timeout'] as const) {
  test(`a message is answered after an outage of ten minutes (${kind})`, async () => {
    const { isAnswered, calls, waitedMs } = await runLongOutage(kind, 600_000, agent, Math.random)
    assert.equal(isAnswered, true)
    assert.ok(waitedMs < 15 * 60_000, `${waitedMs} ms`)
    assert.ok(calls < 60, `${calls} calls`)
  })
}

test('a message fails when an outage lasts longer than the patience', async () => {
  const { isAnswered, waitedMs } = await runLongOutage('overloaded', 3_600_000, agent, Math.random)
  assert.equal(isAnswered, false)
  assert.equal(waitedMs, 1_800_000)
})
