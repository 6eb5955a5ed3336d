import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { brand } from '../../src/lib/ids.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import { createRunningTurns, StopRequested, TurnInterrupted } from '../../src/sessions/running-turns.ts'

const a = brand<SessionKey>('a')
const b = brand<SessionKey>('b')

const take = async () => ({ messages: ['steered'], hasMore: false })

test('stopping a session aborts its turn with StopRequested and waits until it has ended', async () => {
  const turns = createRunningTurns()
  const mine = turns.start(a, 1, new AbortController().signal)
  const other = turns.start(b, 2, new AbortController().signal)
  assert.equal(turns.isRunning(a), true)
  let stopped: boolean | undefined
  const stopping = turns.stop(a).then((found) => {
    stopped = found
  })
  assert.ok(mine.signal.reason instanceof StopRequested)
  await nextTurn()
  assert.equal(stopped, undefined)
  mine.finish()
  await stopping
  assert.equal(stopped, true)
  assert.equal(turns.isRunning(a), false)
  assert.equal(other.signal.aborted, false)
  assert.equal(turns.isRunning(b), true)
})

test('stopping a turn that does not end resolves after five seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const turns = createRunningTurns()
  turns.start(a, 1, new AbortController().signal)
  const stopping = turns.stop(a)
  t.mock.timers.tick(5_000)
  assert.equal(await stopping, true)
})

test('stopping a session without a running turn returns false', async () => {
  const turns = createRunningTurns()
  assert.equal(await turns.stop(a), false)
  assert.equal(turns.stopEvent(1), false)
  turns.start(a, 1, new AbortController().signal).finish()
  assert.equal(await turns.stop(a), false)
})

test('a turn can be stopped by the number of its event', () => {
  const turns = createRunningTurns()
  const one = turns.start(a, 1, new AbortController().signal)
  const two = turns.start(b, 2, new AbortController().signal)
  assert.equal(turns.stopEvent(2), true)
  assert.equal(one.signal.aborted, false)
  assert.ok(two.signal.reason instanceof StopRequested)
})

test('a shutdown aborts the turn with its own reason, also when it precedes the turn', () => {
  const turns = createRunningTurns()
  const daemon = new AbortController()
  const running = turns.start(a, 1, daemon.signal)
  const reason = new Error('the gateway is stopping')
  daemon.abort(reason)
  assert.equal(running.signal.reason, reason)
  assert.equal(turns.start(b, 2, daemon.signal).signal.reason, reason)
})

test('the late end of a turn does not unregister its successor', () => {
  const turns = createRunningTurns()
  const first = turns.start(a, 1, new AbortController().signal)
  turns.start(a, 2, new AbortController().signal)
  first.finish()
  assert.equal(turns.isRunning(a), true)
  assert.equal(turns.stopEvent(2), true)
})

test('what concerns a turn that was claimed and is not registered yet reaches it, and only it', async () => {
  const turns = createRunningTurns()
  const outer = new AbortController().signal
  assert.equal(turns.interrupt(a, 1, 2), false)
  turns.steer(a, 1)
  const interrupted = turns.start(a, 1, outer)
  assert.ok(interrupted.signal.reason instanceof TurnInterrupted)
  assert.equal(interrupted.signal.reason.by, 2)
  assert.deepEqual(await interrupted.takeSteered(take), ['steered'])
  interrupted.finish()

  turns.steer(a, 3)
  assert.deepEqual(await turns.start(b, 4, outer).takeSteered(take), [])
  const later = turns.start(a, 5, outer)
  assert.equal(later.signal.aborted, false)
  assert.deepEqual(await later.takeSteered(take), [])
  later.finish()
  assert.deepEqual(await turns.start(a, 3, outer).takeSteered(take), [])
})

test('messages that could not be steered yet are taken at the next opportunity', async () => {
  const turns = createRunningTurns()
  const turn = turns.start(a, 1, new AbortController().signal)
  turns.steer(a, 1)
  await assert.rejects(turn.takeSteered(() => Promise.reject(new Error('the disk is full'))))
  assert.deepEqual(await turn.takeSteered(async () => ({ messages: ['one'], hasMore: true })), ['one'])
  assert.deepEqual(await turn.takeSteered(take), ['steered'])
  assert.deepEqual(await turn.takeSteered(take), [])
})

test('a turn that is stopped before it is registered is stopped when it is', async () => {
  const turns = createRunningTurns()
  const outer = new AbortController().signal
  assert.equal(await turns.stop(a, 1), false)
  // The first reason counts.
  assert.equal(turns.interrupt(a, 1, 2), false)
  assert.ok(turns.start(a, 1, outer).signal.reason instanceof StopRequested)
  assert.equal(turns.stopEvent(6, b), false)
  assert.ok(turns.start(b, 6, outer).signal.reason instanceof StopRequested)
})
