/**
 * What every engine promises, one process or many. A new kind of engine calls this with a way to build one.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Engine, QueueWorker } from '../../../src/engine/engine.ts'
import { brand } from '../../../src/lib/ids.ts'
import type { SessionKey } from '../../../src/message/ids.ts'

export interface EngineOptions {
  readonly concurrency: number
}

const a = brand<SessionKey>('a')
const b = brand<SessionKey>('b')
const c = brand<SessionKey>('c')

/** A worker that reports when it is called and ends each call when the test says so. */
export function heldWorker() {
  const calls: { name: string; signal: AbortSignal; end(): void; fail(error: Error): void }[] = []
  const waiters: { count: number; resolve(): void }[] = []
  const worker: QueueWorker = (key, lane, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    calls.push({ name: `${key} ${lane}`, signal, end: resolve, fail: reject })
    for (const waiter of waiters) if (calls.length >= waiter.count) waiter.resolve()
    return promise
  }
  return {
    worker,
    names: () => calls.map((call) => call.name),
    /** Resolves with the call of this number, counted from 1, once it was made. */
    async call(number: number) {
      if (calls.length < number) await new Promise<void>((resolve) => waiters.push({ count: number, resolve }))
      const found = calls[number - 1]
      if (found === undefined) throw new Error('unreachable')
      return found
    },
  }
}

/** Gives an engine every chance to do what it must not. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn()
}

async function pendingStateOf(work: Promise<unknown>): Promise<boolean> {
  let pending = true
  const done = () => {
    pending = false
  }
  work.then(done, done)
  await settled()
  return pending
}

/** `open` gives an engine whose pauses after a failure take no time; it is stopped by the test. */
export function engineContract(kind: string, open: (t: TestContext, options: EngineOptions) => Engine): void {
  const promise = (text: string, check: (engine: Engine) => Promise<void>, options = { concurrency: 8 }) =>
    test(`${kind}: ${text}`, async (t) => {
      const engine = open(t, options)
      await check(engine)
      await engine.stop(0)
    })

  promise('work that was announced before the start is done after it', async (engine) => {
    const held = heldWorker()
    engine.wake(a, 'turn')
    engine.wake(b, 'control')
    assert.equal(await pendingStateOf(engine.idle()), true)
    assert.deepEqual(held.names(), [])
    engine.start(held.worker)
    for (const number of [1, 2]) (await held.call(number)).end()
    await engine.idle()
    assert.deepEqual(held.names().sort(), ['a turn', 'b control'])
  })

  promise('a session is worked on by one worker at a time, others at the same time', async (engine) => {
    const held = heldWorker()
    engine.start(held.worker)
    engine.wake(a, 'turn')
    engine.wake(a, 'turn')
    engine.wake(b, 'turn')
    const first = await held.call(1)
    const second = await held.call(2)
    await settled()
    assert.deepEqual(held.names(), ['a turn', 'b turn'])
    second.end()
    first.end()
    const again = await held.call(3)
    assert.equal(again.name, 'a turn')
    again.end()
    await engine.idle()
  })

  promise('work that comes while the worker is busy makes it look once more, and only once', async (engine) => {
    const held = heldWorker()
    engine.start(held.worker)
    engine.wake(a, 'turn')
    const first = await held.call(1)
    for (let times = 0; times < 10; times++) engine.wake(a, 'turn')
    first.end()
    const second = await held.call(2)
    second.end()
    await engine.idle()
    await settled()
    assert.deepEqual(held.names(), ['a turn', 'a turn'])
  })

  promise('a session that hangs holds up nobody else', async (engine) => {
    const held = heldWorker()
    engine.start(held.worker)
    engine.wake(a, 'turn')
    const hanging = await held.call(1)
    engine.wake(b, 'turn')
    const other = await held.call(2)
    other.end()
    await settled()
    assert.deepEqual(engine.load(), { running: 1, waiting: 0 })
    hanging.end()
    await engine.idle()
    assert.deepEqual(engine.load(), { running: 0, waiting: 0 })
  })

  promise('commands run beside the turn of their own session', async (engine) => {
    const held = heldWorker()
    engine.start(held.worker)
    engine.wake(a, 'turn')
    const turn = await held.call(1)
    engine.wake(a, 'control')
    const command = await held.call(2)
    assert.equal(command.name, 'a control')
    command.end()
    turn.end()
    await engine.idle()
  })

  promise(
    'no more turns run at once than allowed, the rest in the order they came; commands are not counted',
    async (engine) => {
      const held = heldWorker()
      engine.start(held.worker)
      engine.wake(a, 'turn')
      engine.wake(b, 'turn')
      engine.wake(c, 'turn')
      engine.wake(c, 'control')
      const first = await held.call(1)
      const command = await held.call(2)
      await settled()
      assert.deepEqual(held.names(), ['a turn', 'c control'])
      assert.deepEqual(engine.load(), { running: 1, waiting: 2 })
      command.end()
      first.end()
      const second = await held.call(3)
      await settled()
      assert.deepEqual(held.names().slice(2), ['b turn'])
      second.end()
      const third = await held.call(4)
      assert.equal(third.name, 'c turn')
      third.end()
      await engine.idle()
    },
    { concurrency: 1 },
  )

  promise('a worker that fails is called again until it succeeds', async (engine) => {
    const held = heldWorker()
    engine.start(held.worker)
    engine.wake(a, 'turn')
    for (const number of [1, 2, 3]) (await held.call(number)).fail(new Error('not yet'))
    const fourth = await held.call(4)
    fourth.end()
    await engine.idle()
    assert.deepEqual(held.names(), ['a turn', 'a turn', 'a turn', 'a turn'])
  })

  promise('a worker that throws before its first await is called again, too', async (engine) => {
    let calls = 0
    engine.start(() => {
      calls += 1
      if (calls === 1) throw new Error('at once')
      return Promise.resolve()
    })
    engine.wake(a, 'turn')
    await engine.idle()
    assert.equal(calls, 2)
  })

  promise(
    'a session that fails again and again gives its place to others between its tries',
    async (engine) => {
      let healthy = false
      const done = Promise.withResolvers<void>()
      engine.start(async (key) => {
        if (key === a && !healthy) throw new Error('broken')
        if (key === b) done.resolve()
      })
      engine.wake(a, 'turn')
      engine.wake(b, 'turn')
      await done.promise
      healthy = true
      await engine.idle()
    },
    { concurrency: 1 },
  )

  promise('stop starts nothing new and waits for what runs', async (engine) => {
    const held = heldWorker()
    engine.start(held.worker)
    engine.wake(a, 'turn')
    const running = await held.call(1)
    const stopped = engine.stop(60_000)
    engine.wake(a, 'turn')
    engine.wake(b, 'turn')
    engine.wake(b, 'control')
    assert.equal(await pendingStateOf(stopped), true)
    assert.equal(running.signal.aborted, false)
    running.end()
    await stopped
    await settled()
    assert.deepEqual(held.names(), ['a turn'])
  })

  promise('what has not ended in time is aborted, and stop waits until it has let go', async (engine) => {
    const held = heldWorker()
    engine.start(held.worker)
    engine.wake(a, 'turn')
    engine.wake(b, 'control')
    const calls = [await held.call(1), await held.call(2)]
    const aborted = Promise.all(
      calls.map(({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve))),
    )
    const stopped = engine.stop(0)
    await aborted
    assert.equal(await pendingStateOf(stopped), true)
    for (const { fail } of calls) fail(new Error('aborted'))
    await stopped
    await settled()
    assert.equal(held.names().length, 2)
  })

  promise('a stop in a hurry aborts at once what it would have waited for', async (engine) => {
    const held = heldWorker()
    engine.start(held.worker)
    engine.wake(a, 'turn')
    const { signal, end } = await held.call(1)
    const hurry = new AbortController()
    const stopped = engine.stop(60_000, hurry.signal)
    await settled()
    assert.equal(signal.aborted, false)
    signal.addEventListener('abort', end, { once: true })
    hurry.abort()
    await stopped
    assert.equal(signal.aborted, true)
  })

  promise('stop may be asked twice, at the same time and afterwards, and before any start', async (engine) => {
    const held = heldWorker()
    engine.wake(b, 'turn')
    engine.start(held.worker)
    const running = await held.call(1)
    const both = [engine.stop(60_000), engine.stop(60_000)]
    assert.equal(await pendingStateOf(Promise.race(both)), true)
    running.end()
    await Promise.all(both)
    await engine.stop(60_000)
  })

  promise('an engine that was never started stops at once, whatever waits', async (engine) => {
    engine.wake(a, 'turn')
    const idle = engine.idle()
    await engine.stop(60_000)
    await idle
  })
}
