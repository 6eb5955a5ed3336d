import assert from 'node:assert/strict'
import { mock, type TestContext, test } from 'node:test'
import { createModelCallMonitor } from '../../../src/agent/models/model-call-monitor.ts'
import { silentLog } from '../../../src/lib/log.ts'

function watchCalls(t: TestContext, limit: number) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => mock.timers.reset())
  let reports = 0
  const monitor = createModelCallMonitor({ log: { ...silentLog, warn: () => void reports++ } })
  let isSaturated = true
  monitor.turnMustWait(limit, () => isSaturated)
  return {
    monitor,
    reports: () => reports,
    pass: (ms: number) => mock.timers.tick(ms),
    freeSlot() {
      isSaturated = false
    },
  }
}

test('hung calls that occupy all turns are reported once, until a turn can run', (t) => {
  const { monitor, reports, pass, freeSlot } = watchCalls(t, 2)
  monitor.calls.add(() => 61_000)
  monitor.calls.add(() => 3_600_000)
  assert.equal(monitor.blockingCalls(), 2)
  pass(600_000)
  assert.equal(reports(), 1)
  freeSlot()
  assert.equal(monitor.blockingCalls(), 0)
})

test('calls that have output are not reported, however many turns wait', (t) => {
  const { monitor, reports, pass } = watchCalls(t, 2)
  monitor.calls.add(() => 61_000)
  const end = () => 61_000
  monitor.calls.add(end)
  monitor.calls.add(() => 59_000)
  monitor.calls.delete(end)
  pass(600_000)
  assert.equal(monitor.blockingCalls(), 0)
  assert.equal(reports(), 0)
})
