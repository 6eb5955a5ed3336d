import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createEmbeddedEngine, createPlaces } from '../../src/engine/embedded-engine.ts'
import { brand } from '../../src/lib/ids.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import { engineContract, heldWorker, workersOf } from '../kit/contracts/engine.ts'

const a = brand<SessionKey>('a')

function engineWith(random: () => number) {
  return createEmbeddedEngine({ log: silentLog, random, settings: () => ({ agent: { max_concurrent_turns: 1 } }) })
}

engineContract('embedded', (_t, { concurrency }) =>
  createEmbeddedEngine({
    log: silentLog,
    random: () => 0,
    settings: () => ({ agent: { max_concurrent_turns: concurrency } }),
  }),
)

test('the back-off grows up to a minute and is reset by a success', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const engine = engineWith(() => 1)
  const held = heldWorker()
  engine.start(held.workers)
  engine.wake(a, 'turn')
  let calls = 1
  const failsThenWaits = async (ms: number) => {
    const failing = await held.call(calls)
    failing.fail(new Error('not yet'))
    await nextTurn()
    assert.deepEqual(engine.load(), { running: 0, waiting: 1 })
    t.mock.timers.tick(ms - 1)
    await nextTurn()
    assert.equal(held.names().length, calls, `called again before ${ms} ms`)
    t.mock.timers.tick(1)
    calls += 1
    await held.call(calls)
  }
  for (const ms of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) await failsThenWaits(ms)
  engine.wake(a, 'turn')
  const success = await held.call(calls)
  success.end()
  calls += 1
  await held.call(calls)
  await failsThenWaits(1_000)
  const last = await held.call(calls)
  last.end()
  await engine.idle()
})

test('new work ends the back-off of a session', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const engine = engineWith(() => 1)
  const held = heldWorker()
  engine.start(held.workers)
  engine.wake(a, 'turn')
  const failing = await held.call(1)
  failing.fail(new Error('not yet'))
  await nextTurn()
  engine.wake(a, 'turn')
  const second = await held.call(2)
  second.end()
  await engine.idle()
  assert.equal(held.names().length, 2)
})

test('a suspect that runs for a minute no longer holds up the others', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const engine = createEmbeddedEngine({
    log: silentLog,
    random: () => 0,
    settings: () => ({ agent: { max_concurrent_turns: 8 } }),
  })
  const held = heldWorker()
  const b = brand<SessionKey>('b')
  engine.runOneAtATime([a, b])
  engine.wake(a, 'turn')
  engine.wake(b, 'turn')
  engine.start(held.workers)
  const slow = await held.call(1)
  t.mock.timers.tick(59_999)
  await nextTurn()
  assert.deepEqual(held.names(), ['a turn'])
  t.mock.timers.tick(1)
  const next = await held.call(2)
  assert.equal(next.name, 'b turn')
  slow.end()
  next.end()
  await engine.idle()
})

test('a stop does not wait for a session in back-off', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const engine = engineWith(() => 1)
  const held = heldWorker()
  engine.start(held.workers)
  engine.wake(a, 'turn')
  const failing = await held.call(1)
  failing.fail(new Error('not yet'))
  await nextTurn()
  await engine.stop(30_000)
  assert.equal(held.names().length, 1)
})

test('a stop ends five seconds after the abort when a worker ignores its signal', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const engine = engineWith(() => 1)
  const held = heldWorker()
  engine.start(held.workers)
  engine.wake(a, 'turn')
  const deaf = await held.call(1)
  let stopped = false
  const stopping = engine.stop(30_000).then(() => {
    stopped = true
  })
  t.mock.timers.tick(29_999)
  await nextTurn()
  assert.equal(deaf.signal.aborted, false)
  t.mock.timers.tick(1)
  await nextTurn()
  assert.equal(deaf.signal.aborted, true)
  t.mock.timers.tick(4_999)
  await nextTurn()
  assert.equal(stopped, false)
  t.mock.timers.tick(1)
  await stopping
  deaf.end()
})

test('a worker does not inherit the async context of the wake-up', async () => {
  const around = new AsyncLocalStorage<string>()
  const engine = engineWith(() => 0)
  const found: unknown[] = []
  const over = Promise.withResolvers<void>()
  engine.start(
    workersOf(async (key, lane) => {
      found.push([key, lane, around.getStore()])
      if (key === a) around.run('the turn of a', () => engine.wake(brand<SessionKey>('b'), 'control'))
      else over.resolve()
    }),
  )
  around.run('a plugin', () => engine.wake(a, 'turn'))
  await over.promise
  await engine.stop(0)
  assert.deepEqual(found, [
    ['a', 'turn', undefined],
    ['b', 'control', undefined],
  ])
})

test('a turn that must wait for another one is reported until it runs', async () => {
  const reports: (() => boolean)[] = []
  const engine = createEmbeddedEngine({
    log: silentLog,
    random: () => 0,
    settings: () => ({ agent: { max_concurrent_turns: 1 } }),
    onSaturated: (_limit, isSaturated) => void reports.push(isSaturated),
  })
  const held = heldWorker()
  engine.start(held.workers)
  engine.wake(a, 'turn')
  const first = await held.call(1)
  assert.equal(reports.length, 0)
  engine.wake(brand<SessionKey>('b'), 'turn')
  assert.equal(reports[0]?.(), true)
  first.end()
  const second = await held.call(2)
  assert.equal(reports[0]?.(), false)
  second.end()
  await engine.idle()
})

test('a session that waits for a place holds up no other, and has it when it is free', async () => {
  const places = createPlaces(() => 1)
  const engine = createEmbeddedEngine({
    log: silentLog,
    random: () => 0,
    settings: () => ({ agent: { max_concurrent_turns: 8 } }),
    places: { kindOf: (key) => key.split(' ')[0] ?? '', ofKind: new Map([['job', places]]) },
  })
  const held = heldWorker()
  engine.start(held.workers)
  for (const key of ['job 1', 'job 2', 'job 3', 'a']) engine.wake(brand<SessionKey>(key), 'turn')
  engine.wake(brand<SessionKey>('job 2'), 'control')
  assert.deepEqual(held.names(), ['job 1 turn', 'a turn', 'job 2 control'])
  const { end: endFirst, ...first } = await held.call(1)
  assert.equal(first.name, 'job 1 turn')
  // A script that asked later than the second job is served before the third one.
  const script = places.enter(new AbortController().signal)
  endFirst()
  const second = await held.call(4)
  assert.equal(second.name, 'job 2 turn')
  second.end()
  await script
  assert.equal(held.names().length, 4)
  places.leave()
  const third = await held.call(5)
  assert.equal(third.name, 'job 3 turn')
  for (const call of [third, await held.call(2), await held.call(3)]) call.end()
  await engine.idle()
  assert.equal(places.isFree(), true)
})

test('a wait for a place that is given up hands nothing over', async () => {
  const places = createPlaces(() => 1)
  const patient = new AbortController()
  const impatient = new AbortController()
  await places.enter(patient.signal)
  const left = places.enter(impatient.signal)
  const next = places.enter(patient.signal)
  impatient.abort(new Error('too long'))
  await assert.rejects(left, /too long/)
  places.leave()
  await next
  assert.equal(places.isFree(), false)
})
