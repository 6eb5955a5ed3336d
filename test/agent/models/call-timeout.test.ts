import assert from 'node:assert/strict'
import { mock, type TestContext, test } from 'node:test'
import { type CallTimeLimits, startCallTimeout } from '../../../src/agent/models/streaming-provider.ts'

function timeoutAt(t: TestContext, limits: CallTimeLimits) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => mock.timers.reset())
  let time = 0
  const timeout = startCallTimeout(new AbortController().signal, limits, () => time)
  const pass = (ms: number) => {
    time += ms
    mock.timers.tick(ms)
  }
  return { timeout, pass }
}

test('only the time without output of the model counts, not the time of the consumer', (t) => {
  const { timeout, pass } = timeoutAt(t, { idleMs: 1000, totalMs: 100_000 })
  timeout.pause()
  pass(5000)
  timeout.resume()
  pass(600)
  timeout.progress()
  pass(999)
  assert.equal(timeout.exceeded, undefined)
  pass(1)
  assert.equal(timeout.exceeded, 'idleMs')
  assert.equal(timeout.signal.aborted, true)
})

test('a chunk without output does not restart the idle time', (t) => {
  const { timeout, pass } = timeoutAt(t, { idleMs: 1000, totalMs: 100_000 })
  for (let chunk = 0; chunk < 9; chunk++) {
    pass(100)
    timeout.pause()
    timeout.resume()
  }
  pass(99)
  assert.equal(timeout.exceeded, undefined)
  pass(1)
  assert.equal(timeout.exceeded, 'idleMs')
})

test('the total limit ends a call that sends output all the time', (t) => {
  const { timeout, pass } = timeoutAt(t, { idleMs: 1000, totalMs: 5000 })
  for (let chunk = 0; chunk < 49; chunk++) {
    pass(100)
    timeout.progress()
  }
  assert.equal(timeout.exceeded, undefined)
  pass(100)
  assert.equal(timeout.exceeded, 'totalMs')
})

test('the timeout forwards the reason of the turn and removes its listener', () => {
  const turn = new AbortController()
  const limits = { idleMs: 1000, totalMs: 1000 }
  const [first, second] = [startCallTimeout(turn.signal, limits), startCallTimeout(turn.signal, limits)]
  first.stop()
  turn.abort(new Error('stopped'))
  assert.equal(first.signal.aborted, false)
  assert.equal(second.signal.reason, turn.signal.reason)
  assert.equal(second.exceeded, undefined)
  second.stop()
})
