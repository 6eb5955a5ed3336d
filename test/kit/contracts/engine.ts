/**
 * The engine contract: promises of every engine.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Engine, QueueWorkers } from '../../../src/engine/engine.ts'
import { brand } from '../../../src/lib/ids.ts'
import type { QueueKind, SessionKey } from '../../../src/message/ids.ts'

export interface EngineOptions {
  readonly concurrency: number
}

const a = brand<SessionKey>('a')
const b = brand<SessionKey>('b')
const c = brand<SessionKey>('c')

/** One function as the worker of both queues. */
export function workersOf(
  work: (key: SessionKey, queue: QueueKind, signal: AbortSignal) => Promise<void>,
): QueueWorkers {
  return {
    turn: (key, signal) => work(key, 'turn', signal),
    control: (key, signal) => work(key, 'control', signal),
  }
}

/** Workers that record their calls. The test ends each call. */
export function heldWorker() {
  const calls: { name: string; signal: AbortSignal; end(): void; fail(error: Error): void }[] = []
  const waiters: { count: number; resolve(): void }[] = []
  const workers = workersOf((key, lane, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    calls.push({ name: `${key} ${lane}`, signal, end: resolve, fail: reject })
    for (const waiter of waiters) if (calls.length >= waiter.count) waiter.resolve()
    return promise
  })
  return {
    workers,
    names: () => calls.map((call) => call.name),
    /** Resolves with the call of this number (from 1) as soon as it was made. */
    async call(number: number) {
      if (calls.length < number) await new Promise<void>((resolve) => waiters.push({ count: number, resolve }))
      const found = calls[number - 1]
      if (found === undefined) throw new Error('unreachable')
      return found
    },
  }
}

/** Waits a few turns of the event loop, for checks that something does not happen. */
async function drainEventLoop(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn()
}

async function isPending(work: Promise<unknown>): Promise<boolean> {
  let pending = true
  const done = () => {
    pending = false
  }
  work.then(done, done)
  await drainEventLoop()
  return pending
}

/** @param open creates an engine without delays after failures; the contract stops it */
export function engineContract(kind: string, open: (t: TestContext, options: EngineOptions) => Engine): void {
  const promise = (name: string, check: (engine: Engine) => Promise<void>, options = { concurrency: 8 }) =>
    test(`${kind}: ${name}`, async (t) => {
      const engine = open(t, options)
      await check(engine)
      await engine.stop(0)
    })

  promise('work that was queued before the start runs after it', async (engine) => {
    const held = heldWorker()
    engine.wake(a, 'turn')
    engine.wake(b, 'control')
    assert.equal(await isPending(engine.idle()), true)
    assert.deepEqual(held.names(), [])
    engine.start(held.workers)
    for (const number of [1, 2]) (await held.call(number)).end()
    await engine.idle()
    assert.deepEqual(held.names().sort(), ['a turn', 'b control'])
  })

  promise('a session has one worker at a time, different sessions run concurrently', async (engine) => {
    const held = heldWorker()
    engine.start(held.workers)
    engine.wake(a, 'turn')
    engine.wake(a, 'turn')
    engine.wake(b, 'turn')
    const first = await held.call(1)
    const second = await held.call(2)
    await drainEventLoop()
    assert.deepEqual(held.names(), ['a turn', 'b turn'])
    second.end()
    first.end()
    const again = await held.call(3)
    assert.equal(again.name, 'a turn')
    again.end()
    await engine.idle()
  })

  promise('any number of wakes during a call lead to one more call', async (engine) => {
    const held = heldWorker()
    engine.start(held.workers)
    engine.wake(a, 'turn')
    const first = await held.call(1)
    for (let times = 0; times < 10; times++) engine.wake(a, 'turn')
    first.end()
    const second = await held.call(2)
    second.end()
    await engine.idle()
    await drainEventLoop()
    assert.deepEqual(held.names(), ['a turn', 'a turn'])
  })

  promise('a session that hangs does not block other sessions', async (engine) => {
    const held = heldWorker()
    engine.start(held.workers)
    engine.wake(a, 'turn')
    const hanging = await held.call(1)
    engine.wake(b, 'turn')
    const other = await held.call(2)
    other.end()
    await drainEventLoop()
    assert.deepEqual(engine.load(), { running: 1, waiting: 0 })
    hanging.end()
    await engine.idle()
    assert.deepEqual(engine.load(), { running: 0, waiting: 0 })
  })

  promise('commands run concurrently with the turn of their session', async (engine) => {
    const held = heldWorker()
    engine.start(held.workers)
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
    'the number of concurrent turns is limited, waiting turns start in order, and commands do not count',
    async (engine) => {
      const held = heldWorker()
      engine.start(held.workers)
      engine.wake(a, 'turn')
      engine.wake(b, 'turn')
      engine.wake(c, 'turn')
      engine.wake(c, 'control')
      const first = await held.call(1)
      const command = await held.call(2)
      await drainEventLoop()
      assert.deepEqual(held.names(), ['a turn', 'c control'])
      assert.deepEqual(engine.load(), { running: 1, waiting: 2 })
      command.end()
      first.end()
      const second = await held.call(3)
      await drainEventLoop()
      assert.deepEqual(held.names().slice(2), ['b turn'])
      second.end()
      const third = await held.call(4)
      assert.equal(third.name, 'c turn')
      third.end()
      await engine.idle()
    },
    { concurrency: 1 },
  )

  promise(
    'a turn that waits outside lets another one run, and continues when a place is free',
    async (engine) => {
      const held = heldWorker()
      engine.start(held.workers)
      engine.wake(a, 'turn')
      engine.wake(b, 'turn')
      const first = await held.call(1)
      const answer = Promise.withResolvers<string>()
      const waiting = engine.waitOutside(a, () => answer.promise, first.signal)
      const second = await held.call(2)
      assert.equal(second.name, 'b turn')
      answer.resolve('yes')
      assert.equal(await isPending(waiting), true)
      second.end()
      assert.equal(await waiting, 'yes')
      assert.deepEqual(engine.load(), { running: 1, waiting: 0 })
      first.end()
      await engine.idle()
      assert.deepEqual(engine.load(), { running: 0, waiting: 0 })
    },
    { concurrency: 1 },
  )

  promise(
    'a turn that is aborted while it waits outside continues at once',
    async (engine) => {
      const held = heldWorker()
      engine.start(held.workers)
      engine.wake(a, 'turn')
      engine.wake(b, 'turn')
      const first = await held.call(1)
      const stop = new AbortController()
      const waiting = engine.waitOutside(a, () => Promise.reject(new Error('stopped')), stop.signal)
      waiting.catch(() => undefined)
      const second = await held.call(2)
      assert.equal(await isPending(waiting), true)
      stop.abort()
      await assert.rejects(waiting, /stopped/)
      second.end()
      first.end()
      await engine.idle()
      assert.deepEqual(engine.load(), { running: 0, waiting: 0 })
    },
    { concurrency: 1 },
  )

  promise(
    'a turn that waits again before a place is free takes none',
    async (engine) => {
      const held = heldWorker()
      engine.start(held.workers)
      engine.wake(a, 'turn')
      engine.wake(b, 'turn')
      const first = await held.call(1)
      const short = engine.waitOutside(a, async () => 'short', first.signal)
      const second = await held.call(2)
      const answer = Promise.withResolvers<string>()
      const long = engine.waitOutside(a, () => answer.promise, first.signal)
      await drainEventLoop()
      assert.deepEqual(engine.load(), { running: 1, waiting: 0 })
      second.end()
      assert.equal(await short, 'short')
      assert.deepEqual(engine.load(), { running: 0, waiting: 0 })
      answer.resolve('long')
      assert.equal(await long, 'long')
      assert.deepEqual(engine.load(), { running: 1, waiting: 0 })
      first.end()
      await engine.idle()
      assert.deepEqual(engine.load(), { running: 0, waiting: 0 })
    },
    { concurrency: 1 },
  )

  promise(
    'a turn with branches lets another one run only while all of them wait',
    async (engine) => {
      const held = heldWorker()
      engine.start(held.workers)
      engine.wake(a, 'turn')
      engine.wake(b, 'turn')
      const first = await held.call(1)
      const branchEnded = engine.fork(a, 3)
      const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
      const waits = answers.map(({ promise: answer }) => engine.waitOutside(a, () => answer, first.signal))
      await drainEventLoop()
      assert.deepEqual(engine.load(), { running: 1, waiting: 1 }, 'the third branch works')
      branchEnded()
      const second = await held.call(2)
      assert.equal(second.name, 'b turn')
      answers[0].resolve()
      assert.equal(await isPending(waits[0] ?? Promise.resolve()), true)
      answers[1].resolve()
      second.end()
      await Promise.all(waits)
      assert.deepEqual(engine.load(), { running: 1, waiting: 0 }, 'both branches share one place')
      branchEnded()
      branchEnded()
      const alone = Promise.withResolvers<void>()
      const waiting = engine.waitOutside(a, () => alone.promise, first.signal)
      assert.deepEqual(engine.load(), { running: 0, waiting: 0 })
      alone.resolve()
      await waiting
      first.end()
      await engine.idle()
      assert.deepEqual(engine.load(), { running: 0, waiting: 0 })
    },
    { concurrency: 1 },
  )

  promise(
    'a session with more work lets the sessions that wait run before its next turn',
    async (engine) => {
      const held = heldWorker()
      engine.start(held.workers)
      engine.wake(a, 'turn')
      const first = await held.call(1)
      assert.equal(engine.yieldTurn(a), false)
      engine.wake(b, 'turn')
      assert.equal(engine.yieldTurn(a), true)
      first.end()
      const second = await held.call(2)
      assert.equal(second.name, 'b turn')
      second.end()
      const third = await held.call(3)
      assert.equal(third.name, 'a turn')
      third.end()
      await engine.idle()
    },
    { concurrency: 1 },
  )

  promise(
    'a wait that outlives its turn takes no place of another one',
    async (engine) => {
      const held = heldWorker()
      engine.start(held.workers)
      engine.wake(a, 'turn')
      const first = await held.call(1)
      const late = Promise.withResolvers<void>()
      const waiting = engine.waitOutside(a, () => late.promise, first.signal)
      first.end()
      await drainEventLoop()
      late.resolve()
      await waiting
      engine.wake(b, 'turn')
      const second = await held.call(2)
      assert.deepEqual(engine.load(), { running: 1, waiting: 0 })
      second.end()
      await engine.idle()
    },
    { concurrency: 1 },
  )

  promise('suspects run one at a time, beside other sessions', async (engine) => {
    const held = heldWorker()
    engine.runOneAtATime([a, b])
    engine.wake(a, 'turn')
    engine.wake(b, 'turn')
    engine.wake(c, 'turn')
    engine.start(held.workers)
    const first = await held.call(1)
    const other = await held.call(2)
    await drainEventLoop()
    assert.deepEqual(held.names(), ['a turn', 'c turn'])
    engine.madeProgress(a)
    const second = await held.call(3)
    assert.equal(second.name, 'b turn')
    for (const { end } of [first, other, second]) end()
    await engine.idle()
  })

  promise('the end of a suspect starts the next one', async (engine) => {
    const held = heldWorker()
    engine.runOneAtATime([a, b])
    engine.wake(a, 'turn')
    engine.wake(b, 'turn')
    engine.start(held.workers)
    const first = await held.call(1)
    first.end()
    const second = await held.call(2)
    assert.equal(second.name, 'b turn')
    second.end()
    await engine.idle()
  })

  promise('a queue can be woken later; it counts as waiting until then', async (engine) => {
    const held = heldWorker()
    engine.start(held.workers)
    engine.wakeLater(a, 'turn', 60_000)
    assert.deepEqual(engine.load(), { running: 0, waiting: 1 })
    engine.wakeLater(a, 'turn', 1)
    const call = await held.call(1)
    assert.equal(call.name, 'a turn')
    call.end()
    await engine.idle()
    assert.deepEqual(engine.load(), { running: 0, waiting: 0 })
  })

  promise('a worker that fails is called again until it succeeds', async (engine) => {
    const held = heldWorker()
    engine.start(held.workers)
    engine.wake(a, 'turn')
    for (const number of [1, 2, 3]) (await held.call(number)).fail(new Error('not yet'))
    const fourth = await held.call(4)
    fourth.end()
    await engine.idle()
    assert.deepEqual(held.names(), ['a turn', 'a turn', 'a turn', 'a turn'])
  })

  promise('a worker that throws synchronously is called again', async (engine) => {
    let calls = 0
    engine.start(
      workersOf(() => {
        calls += 1
        if (calls === 1) throw new Error('at once')
        return Promise.resolve()
      }),
    )
    engine.wake(a, 'turn')
    await engine.idle()
    assert.equal(calls, 2)
  })

  promise(
    'a session that keeps failing lets other sessions run between its attempts',
    async (engine) => {
      let healthy = false
      const done = Promise.withResolvers<void>()
      engine.start(
        workersOf(async (key) => {
          if (key === a && !healthy) throw new Error('broken')
          if (key === b) done.resolve()
        }),
      )
      engine.wake(a, 'turn')
      engine.wake(b, 'turn')
      await done.promise
      healthy = true
      await engine.idle()
    },
    { concurrency: 1 },
  )

  promise('stop starts no new work and waits for running work', async (engine) => {
    const held = heldWorker()
    engine.start(held.workers)
    engine.wake(a, 'turn')
    const running = await held.call(1)
    const stopped = engine.stop(60_000)
    engine.wake(a, 'turn')
    engine.wake(b, 'turn')
    engine.wake(b, 'control')
    assert.equal(await isPending(stopped), true)
    assert.equal(running.signal.aborted, false)
    running.end()
    await stopped
    await drainEventLoop()
    assert.deepEqual(held.names(), ['a turn'])
  })

  promise('work that exceeds the grace period is aborted, and stop waits until it has ended', async (engine) => {
    const held = heldWorker()
    engine.start(held.workers)
    engine.wake(a, 'turn')
    engine.wake(b, 'control')
    const calls = [await held.call(1), await held.call(2)]
    const aborted = Promise.all(
      calls.map(({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve))),
    )
    const stopped = engine.stop(0)
    await aborted
    assert.equal(await isPending(stopped), true)
    for (const { fail } of calls) fail(new Error('aborted'))
    await stopped
    await drainEventLoop()
    assert.equal(held.names().length, 2)
  })

  promise('stop with an aborted `force` signal aborts running work at once', async (engine) => {
    const held = heldWorker()
    engine.start(held.workers)
    engine.wake(a, 'turn')
    const { signal, end } = await held.call(1)
    const force = new AbortController()
    const stopped = engine.stop(60_000, force.signal)
    await drainEventLoop()
    assert.equal(signal.aborted, false)
    signal.addEventListener('abort', end, { once: true })
    force.abort()
    await stopped
    assert.equal(signal.aborted, true)
  })

  promise('stop may be called several times', async (engine) => {
    const held = heldWorker()
    engine.wake(b, 'turn')
    engine.start(held.workers)
    const running = await held.call(1)
    const both = [engine.stop(60_000), engine.stop(60_000)]
    assert.equal(await isPending(Promise.race(both)), true)
    running.end()
    await Promise.all(both)
    await engine.stop(60_000)
  })

  promise('an engine that was never started stops at once, although work is queued', async (engine) => {
    engine.wake(a, 'turn')
    const idle = engine.idle()
    await engine.stop(60_000)
    await idle
  })
}
