/**
 * The line of one hook under load: bounded by what waits in it, quiet in the log, and indifferent to the clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handlerFailure, type RunHook } from '../../src/hooks/handler-result.ts'
import { approximateSizeBytes, createListener } from '../../src/hooks/listener.ts'
import { createRecordingLog } from '../hosts/support.ts'

function listenerWith(run: RunHook, clock: () => number = Date.now, neverTrips = false) {
  const log = createRecordingLog()
  const deadlineMs = () => 1_000
  const listener = createListener({ id: 'slow', run, deadlineMs, isEligible: () => true, neverTrips, clock, log })
  return { listener, log }
}

test('large events fill a queue before it has a thousand of them, and dropped events are counted', async () => {
  const heard: unknown[] = []
  const gate = Promise.withResolvers<void>()
  const { listener, log } = listenerWith(async ({ context }) => {
    heard.push(context)
    await gate.promise
    return { ok: true, value: null }
  })
  const long = 'x'.repeat(100_000)
  for (let number = 0; number < 1_000; number++) listener.notify('agent:end', { number, response_full: long })
  const { waiting, dropped } = listener.counts()
  assert.ok(waiting > 300 && waiting < 340, `${waiting} events wait`)
  assert.equal(waiting + dropped, 1_000)
  // A short one has its place, and a line that has been emptied takes long ones again.
  listener.notify('agent:end', { number: 'short' })
  assert.equal(listener.counts().waiting, waiting + 1)
  gate.resolve()
  await listener.whenIdle()
  listener.notify('agent:end', { number: 'huge', response_full: 'x'.repeat(40_000_000) })
  await listener.whenIdle()
  assert.equal(heard.length, waiting + 2, 'an event that is too long for the line alone is heard all the same')
  assert.equal(log.records.filter(({ text }) => text.includes('too slow')).length, 1)
})

test('a check that keeps failing is still called, and its failures are reported once until it succeeds', async () => {
  let isBroken = true
  const run: RunHook = async () => (isBroken ? handlerFailure('broken') : { ok: true, value: 'denied' })
  const { listener, log } = listenerWith(run, Date.now, true)
  for (let count = 0; count < 5; count++) assert.equal(await listener.request('pre_tool_call', {}), undefined)
  assert.deepEqual([listener.state().state, listener.counts().failed, listener.counts().dropped], ['failing', 5, 0])
  assert.deepEqual(
    log.records.map(({ fields }) => fields['event']),
    ['hook.handler_failed'],
  )
  isBroken = false
  assert.equal(await listener.request('pre_tool_call', {}), 'denied')
  assert.equal(listener.state().state, 'ready')
})

test('a hook that is constantly too slow is reported once, not for each dropped event', async () => {
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  let allowed = 0
  const { listener, log } = listenerWith(async () => {
    while (allowed === 0) await turn()
    allowed -= 1
    return { ok: true, value: null }
  })
  for (let count = 0; count < 1_100; count++) listener.notify('agent:end', {})
  for (let round = 1; round <= 20; round++) {
    allowed = 1
    while (listener.counts().fired < round) await turn()
    for (let count = 0; count < 5; count++) listener.notify('agent:end', {})
  }
  assert.equal(log.records.filter(({ text }) => text.includes('too slow')).length, 1)
  listener.stop()
  allowed = 1
  await listener.whenIdle()
})

test('an unavailable runtime is tried again, also after the clock was set back', async () => {
  let now = 1_000_000_000
  let calls = 0
  const { listener } = listenerWith(
    async () => {
      calls += 1
      return handlerFailure('there is no python3', { kind: 'unavailable', countsAgainstHook: false })
    },
    () => now,
  )
  const hear = async () => {
    listener.notify('agent:end', {})
    await listener.whenIdle()
    return calls
  }
  assert.equal(await hear(), 1)
  assert.equal(await hear(), 1)
  now -= 86_400_000
  assert.equal(await hear(), 2)
})

test('the size of an event is estimated in bounded time, whatever it contains', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  assert.ok(approximateSizeBytes(circle) < 100_000)
  assert.ok(approximateSizeBytes({ tools: [{ result: 'x'.repeat(1_000) }] }) >= 1_000)
  assert.ok(approximateSizeBytes('x'.repeat(10)) >= 10)
})
