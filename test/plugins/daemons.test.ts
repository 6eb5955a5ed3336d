/**
 * Daemons of plugins run beside the conversations, come back after a failure, and stop in time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { createDaemons, type Daemons } from '../../src/plugins/daemons/daemons.ts'
import { createRecordingLog, type RecordingLog } from '../hosts/support.ts'
import { createVirtualTime, type VirtualTime } from '../platforms/virtual-time.ts'
import { neverSettles } from './support.ts'

interface DaemonsUnderTest {
  readonly daemons: Daemons
  readonly time: VirtualTime
  readonly log: RecordingLog
  /** What daemons have done, in its order. */
  readonly done: string[]
  /** Registers a daemon that notes what it does. */
  add(name: string, does?: { startup?: () => unknown; shutdown?: () => unknown }): ReturnType<Daemons['register']>
  stateOf(name: string): string | undefined
}

function daemonsUnderTest(): DaemonsUnderTest {
  const time = createVirtualTime()
  const log = createRecordingLog()
  const done: string[] = []
  const daemons = createDaemons({ log, clock: time.clock, sleep: time.sleep, random: () => 1 })
  return {
    daemons,
    time,
    log,
    done,
    add(name, { startup, shutdown } = {}) {
      const noted = (what: string, act: (() => unknown) | undefined) => () => {
        done.push(`${what} ${name}`)
        return act?.()
      }
      return daemons.register('demo', name, noted('start', startup), noted('stop', shutdown))
    },
    stateOf: (name) => daemons.status().find((one) => one.name === name)?.state,
  }
}

test('daemons start one after another in the order of registration and stop in reverse order', async () => {
  const { daemons, time, done, add, stateOf } = daemonsUnderTest()
  add('one', { startup: () => time.sleep(100), shutdown: () => time.sleep(100) })
  add('two')
  add('three')
  assert.deepEqual(done, [])
  assert.equal(stateOf('one'), 'waiting')
  const started = daemons.start()
  await time.flush()
  assert.deepEqual(done, ['start one'])
  assert.equal(stateOf('one'), 'starting')
  await time.advance(100)
  await started
  assert.deepEqual(done.splice(0), ['start one', 'start two', 'start three'])
  assert.deepEqual(
    daemons.status().map(({ state }) => state),
    ['running', 'running', 'running'],
  )
  const stopped = daemons.stop()
  await time.advance(100)
  await stopped
  assert.deepEqual(done, ['stop three', 'stop two', 'stop one'])
  assert.equal(stateOf('one'), 'stopped')
})

test('without a start, as on the command line, no daemon runs and none is stopped', async () => {
  const { daemons, done, add } = daemonsUnderTest()
  add('one')
  await daemons.stop()
  assert.deepEqual(done, [])
})

test('a name in use is rejected with its owner and is free after its removal', () => {
  const { daemons, add } = daemonsUnderTest()
  const first = add('one')
  assert.throws(
    () =>
      daemons.register(
        'other',
        'one',
        () => null,
        () => null,
      ),
    (error) => isHermesError(error, 'plugins/daemon-taken') && error.message.includes('registered by the plugin demo'),
  )
  assert.equal(first.remove(), true)
  assert.equal(first.remove(), false)
  add('one')
})

test('a daemon that cannot start is retried with a growing delay and does not delay others', async () => {
  const { daemons, time, done, log, add } = daemonsUnderTest()
  let broken = true
  add('one', {
    startup() {
      if (broken) throw new Error('no port')
    },
  })
  add('two')
  await daemons.start()
  assert.deepEqual(done.splice(0), ['start one', 'start two'])
  const [status] = daemons.status()
  assert.deepEqual(
    [status?.owner, status?.state, status?.restarts, status?.lastError?.text],
    ['demo', 'restarting', 1, 'no port'],
  )
  assert.deepEqual(time.pendingMs(), [2_000])
  await time.advance(2_000)
  assert.deepEqual(time.pendingMs(), [4_000])
  await time.advance(4_000)
  assert.deepEqual(time.pendingMs(), [8_000])
  broken = false
  await time.advance(8_000)
  assert.deepEqual(done, ['start one', 'start one', 'start one'])
  assert.equal(daemons.status()[0]?.state, 'running')
  assert.equal(daemons.status()[0]?.restarts, 3)
  assert.ok(log.records.every(({ level, fields }) => level === 'error' && fields['event'] === 'daemon.failed'))
  await daemons.stop()
})

test('a periodic task runs from the end of one run to the beginning of the next', async () => {
  const { daemons, time, done } = daemonsUnderTest()
  daemons.register(
    'demo',
    'one',
    () => done.push('start'),
    () => done.push('stop'),
    {
      periodicTask: {
        name: 'look',
        intervalMs: 1_000,
        async run() {
          done.push(`begin ${time.clock() - 1_000_000}`)
          await time.sleep(300)
          done.push(`end ${time.clock() - 1_000_000}`)
        },
      },
    },
  )
  await daemons.start()
  assert.equal(daemons.status()[0]?.nextRun, 1_001_000)
  await time.advance(1_100)
  assert.equal(daemons.status()[0]?.nextRun, null)
  await time.advance(1_500)
  assert.deepEqual(done, ['start', 'begin 1000', 'end 1300', 'begin 2300', 'end 2600'])
  await daemons.stop()
  assert.equal(done.at(-1), 'stop')
})

test('a task that runs at the start runs at once, after the startup', async () => {
  const { daemons, time, done } = daemonsUnderTest()
  daemons.register(
    'demo',
    'one',
    () => done.push('start'),
    () => done.push('stop'),
    {
      periodicTask: { name: 'look', intervalMs: 1_000, runAtStart: true, run: () => done.push('run') },
    },
  )
  await daemons.start()
  await time.flush()
  assert.deepEqual(done, ['start', 'run'])
  await daemons.stop()
})

test('a daemon whose task fails is restarted, and a success resets the restart delay', async () => {
  const { daemons, time, done } = daemonsUnderTest()
  let broken = true
  daemons.register(
    'demo',
    'one',
    () => done.push('start'),
    () => done.push('stop'),
    {
      periodicTask: {
        name: 'look',
        intervalMs: 1_000,
        run() {
          done.push('run')
          if (broken) throw new Error('gone')
        },
      },
    },
  )
  await daemons.start()
  await time.advance(1_000)
  assert.deepEqual(done.splice(0), ['start', 'run', 'stop'])
  assert.deepEqual(time.pendingMs(), [2_000])
  await time.advance(3_000)
  assert.deepEqual(done.splice(0), ['start', 'run', 'stop'])
  assert.deepEqual(time.pendingMs(), [4_000])
  broken = false
  await time.advance(5_000)
  assert.deepEqual(done.splice(0), ['start', 'run'])
  broken = true
  await time.advance(1_000)
  assert.deepEqual(time.pendingMs(), [2_000])
  assert.equal(daemons.status()[0]?.restarts, 3)
  await daemons.stop()
})

test('the stop does not wait for a daemon beyond its shutdown timeout', async () => {
  const { daemons, time, done, log, add } = daemonsUnderTest()
  add('one')
  daemons.register('demo', 'stubborn', () => null, neverSettles, { shutdownTimeoutMs: 700 })
  await daemons.start()
  const stopped = daemons.stop()
  await time.advance(699)
  assert.deepEqual(done, ['start one'])
  await time.advance(1)
  await stopped
  assert.deepEqual(done, ['start one', 'stop one'])
  const { event, daemon } = log.records.at(-1)?.fields ?? {}
  assert.deepEqual([event, daemon], ['daemon.stop_timed_out', 'stubborn'])
})

test('a task that ignores the stop does not reduce the time for the shutdown of its daemon', async () => {
  const { daemons, time, done } = daemonsUnderTest()
  let aborted = false
  daemons.register(
    'demo',
    'one',
    () => null,
    () => done.push('stop'),
    {
      periodicTask: {
        name: 'hang',
        intervalMs: 1,
        runAtStart: true,
        run(signal) {
          signal.addEventListener('abort', () => {
            aborted = true
          })
          return neverSettles()
        },
      },
    },
  )
  await daemons.start()
  const stopped = daemons.stop()
  await time.advance(2_500)
  await stopped
  assert.equal(aborted, true)
  assert.deepEqual(done, ['stop'])
})

test('a hanging startup delays other daemons for a limited time, and is shut down if it completes late', async () => {
  const { daemons, time, done, add } = daemonsUnderTest()
  let up: () => void = () => undefined
  add('slow', {
    startup: () =>
      new Promise<void>((resolve) => {
        up = resolve
      }),
  })
  add('two')
  const started = daemons.start()
  await time.advance(29_999)
  assert.deepEqual(done, ['start slow'])
  await time.advance(1)
  await started
  assert.deepEqual(done, ['start slow', 'start two'])
  const stopped = daemons.stop()
  await time.advance(5_000)
  await stopped
  assert.deepEqual(done.slice(2), ['stop two'])
  up()
  await time.flush()
  assert.deepEqual(done.slice(2), ['stop two', 'stop slow'])
})

test('a failing shutdown is logged and does not prevent the others from stopping', async () => {
  const { daemons, log, done, add } = daemonsUnderTest()
  add('one')
  add('two', {
    shutdown() {
      throw new Error('stuck')
    },
  })
  await daemons.start()
  await daemons.stop()
  assert.deepEqual(done.slice(2), ['stop two', 'stop one'])
  const { event, daemon } = log.records.at(-1)?.fields ?? {}
  assert.deepEqual([event, daemon], ['daemon.stop_failed', 'two'])
})

test('a daemon that is registered while the gateway runs starts at once and stops when it is removed', async () => {
  const { daemons, time, done, add } = daemonsUnderTest()
  await daemons.start()
  const registration = add('late', { shutdown: () => time.sleep(100) })
  await time.flush()
  assert.deepEqual(done, ['start late'])
  registration.remove()
  assert.deepEqual(daemons.status(), [])
  let isStopped = false
  const stopped = daemons.stopped('demo').then(() => {
    isStopped = true
  })
  await time.advance(99)
  assert.equal(isStopped, false)
  await time.advance(1)
  await stopped
  assert.deepEqual(done, ['start late', 'stop late'])
  await daemons.stop()
})

test('a second stop has no effect', async () => {
  const { daemons, done, add } = daemonsUnderTest()
  add('one')
  await daemons.start()
  await Promise.all([daemons.stop(), daemons.stop()])
  assert.deepEqual(done, ['start one', 'stop one'])
})

test('a daemon with invalid intervals or timeouts is rejected', () => {
  const { daemons } = daemonsUnderTest()
  const task = { name: 'tick', intervalMs: 1, run: () => undefined }
  const bad: unknown[] = [
    { periodicTask: { ...task, intervalMs: 0 } },
    { periodicTask: { ...task, intervalMs: Number.NaN } },
    { periodicTask: { ...task, intervalMs: -5 } },
    { periodicTask: { ...task, run: undefined } },
    { shutdownTimeoutMs: Number.NaN },
    { shutdownTimeoutMs: 'soon' },
  ]
  const nothing = () => undefined
  for (const options of bad) {
    assert.throws(
      () => Reflect.apply(daemons.register, daemons, ['demo', 'odd', nothing, nothing, options]),
      (error) => isHermesError(error, 'plugins/invalid-registration'),
    )
  }
  assert.deepEqual(daemons.status(), [])
})
