import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { backoffMs, linkAbortSignal, sleep, withTimeout } from '../../src/lib/timers.ts'

async function isDone(work: Promise<unknown>): Promise<boolean> {
  let done = false
  const note = () => {
    done = true
  }
  work.then(note, note)
  await nextTurn()
  return done
}

test('sleep resolves after its time, not before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const waiting = sleep(1_000)
  t.mock.timers.tick(999)
  assert.equal(await isDone(waiting), false)
  t.mock.timers.tick(1)
  assert.equal(await isDone(waiting), true)
})

test('sleep accepts more than the maximum of a timer, and infinity', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const longestTimer = 2 ** 31 - 1
  const month = 30 * 24 * 3_600_000
  const waiting = sleep(month)
  const controller = new AbortController()
  const endless = sleep(Number.POSITIVE_INFINITY, controller.signal)
  t.mock.timers.tick(longestTimer)
  t.mock.timers.tick(month - longestTimer - 1)
  assert.deepEqual([await isDone(waiting), await isDone(endless)], [false, false])
  t.mock.timers.tick(1)
  assert.deepEqual([await isDone(waiting), await isDone(endless)], [true, false])
  controller.abort()
  assert.equal(await isDone(endless), true)
})

test('no timer gets a delay above its maximum', async (t) => {
  const asked: unknown[] = []
  t.mock.method(globalThis, 'setTimeout', (_done: unknown, ms: unknown) => {
    asked.push(ms)
  })
  const controller = new AbortController()
  const waiting = [sleep(3e9, controller.signal), sleep(Number.POSITIVE_INFINITY, controller.signal)]
  controller.abort()
  await Promise.all(waiting)
  assert.deepEqual(asked, [2 ** 31 - 1, 2 ** 31 - 1])
})

test('sleep resolves at once when the signal aborts, also if it was already aborted', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const controller = new AbortController()
  const waiting = sleep(1_000, controller.signal)
  controller.abort()
  assert.equal(await isDone(waiting), true)
  assert.equal(await isDone(sleep(1_000, controller.signal)), true)
})

test('sleep removes its listener from the signal', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { signal } = new AbortController()
  for (let turn = 0; turn < 3; turn++) {
    const waiting = sleep(1, signal)
    assert.equal(getEventListeners(signal, 'abort').length, 1)
    t.mock.timers.tick(1)
    await waiting
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('withTimeout returns the value of work that finishes in time, and nothing for slower work', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  assert.deepEqual(await withTimeout(Promise.resolve(7), 1_000), { done: true, value: 7 })
  const slow = withTimeout(new Promise(() => undefined), 1_000)
  t.mock.timers.tick(1_000)
  assert.deepEqual(await slow, { done: false })
})

test('withTimeout rejects if the work fails in time; a later failure has no effect', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await assert.rejects(withTimeout(Promise.reject(new Error('no')), 1_000), /no/)
  const late = Promise.withResolvers<never>()
  const waiting = withTimeout(late.promise, 1_000)
  t.mock.timers.tick(1_000)
  assert.deepEqual(await waiting, { done: false })
  late.reject(new Error('late'))
  await nextTurn()
})

test('withTimeout returns when the signal aborts', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const controller = new AbortController()
  const waiting = withTimeout(new Promise(() => undefined), 1_000, controller.signal)
  assert.equal(await isDone(waiting), false)
  controller.abort()
  assert.deepEqual(await waiting, { done: false })
})

test('backoff grows with the attempts, stays within its limits and has full jitter', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((attempt) => backoffMs(attempt, 1_000, 10_000, () => 1)),
    [1_000, 2_000, 4_000, 8_000, 10_000],
  )
  assert.equal(
    backoffMs(3, 1_000, 10_000, () => 0),
    0,
  )
  assert.equal(
    backoffMs(3, 1_000, 10_000, () => 0.5),
    2_000,
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, chance) => {
        const ms = backoffMs(attempt, 1_000, 60_000, () => chance)
        assert.ok(Number.isInteger(ms) && ms >= 0 && ms <= 60_000)
      },
    ),
    { numRuns: 200 },
  )
})

test('a linked signal aborts with the reason of its source, also when the source was already aborted', () => {
  const [daemon, account] = [new AbortController(), new AbortController()]
  const call = linkAbortSignal(daemon.signal, account.signal)
  assert.equal(call.signal.aborted, false)
  account.abort('gone')
  assert.equal(call.signal.reason, 'gone')
  assert.equal(linkAbortSignal(daemon.signal, account.signal).signal.reason, 'gone')
})

test('aborting a linked signal does not abort its source, and releasing it removes the listeners', () => {
  const account = new AbortController()
  const call = linkAbortSignal(account.signal)
  assert.equal(getEventListeners(account.signal, 'abort').length, 1)
  call.abort()
  call.release()
  call.release()
  assert.deepEqual([call.signal.aborted, account.signal.aborted], [true, false])
  assert.equal(getEventListeners(account.signal, 'abort').length, 0)
})
