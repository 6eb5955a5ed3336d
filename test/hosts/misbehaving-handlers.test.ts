/**
 * Handlers that misbehave: each is reported for what it did, and the next call works.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Host } from '../../src/hosts/contract.ts'
import {
  createSharedHost,
  createTestHost,
  expectFailure,
  expectValue,
  isAlive,
  timeout,
  waitForExit,
  withoutPython,
} from './support.ts'

const node = {
  skip: false as const,
  file: 'bad.mjs',
  good: 'good.mjs',
  goodText: 'export const handle = () => "good"\nexport const wait = (_, { gateway }) => gateway.send("a", "b")',
  text: `
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
export const handle = () => 'still here'
export const throws = () => { throw new TypeError('no such chat') }
export const strange = () => { throw { code: 7 } }
export const hang = () => new Promise(() => {})
export const obeys = (signal) => new Promise((resolve) => signal.signal.addEventListener('abort', () => resolve('late')))
export const spin = () => { while (true); }
export const exit = () => process.exit(3)
export const killed = () => { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}) }
export const chatter = () => { for (let n = 0; n < 10_240; n++) writeSync(1, 'x'.repeat(1023) + '\\n'); return 'printed' }
export const longLine = () => { process.stderr.write('y'.repeat(1_000_000) + '\\n') }
export const logs = (services) => { for (let n = 0; n < 1_000; n++) services.log.info('again') }
export const unsendable = () => { const ring = {}; ring.ring = ring; return ring }
export const endless = () => 'z'.repeat(200_000)
export const garbage = () => { writeSync(4, 'what is this?\\n'); return new Promise(() => {}) }
export const forged = () => { writeSync(4, '{"t":"callResult","id":"one"}\\n'); return new Promise(() => {}) }
export const flood = () => { for (;;) writeSync(4, 'x'.repeat(65_536)) }
export const grandchild = () => spawn('sleep', ['1000'], { stdio: 'ignore' }).pid
export const buffers = () => { const kept = []; for (;;) kept.push(Buffer.alloc(16 << 20, 1)) }
export const exhaust = () => { const kept = []; for (;;) kept.push(Array(1_000).fill(kept.length)) }
`,
  location: /bad\.mjs:\d+:\d+/,
}
const python = {
  skip: withoutPython,
  file: 'bad.py',
  good: 'good.py',
  goodText: `
def handle(*args):
    return "good"
def wait(unused, services):
    return services.gateway.send("a", "b")`,
  text: `
import os, signal, subprocess, sys, asyncio
def handle():
    return "still here"
def throws():
    raise TypeError("no such chat")
class Strange(Exception):
    def __str__(self):
        raise ValueError("unreadable")
def strange():
    raise Strange()
async def hang():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass
def obeys(services):
    services.signal.wait()
    return "late"
def spin():
    while True:
        pass
def exit():
    os._exit(3)
def killed():
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()
def chatter():
    for n in range(10240):
        os.write(1, b"x" * 1023 + b"\\n")
    return "printed"
def longLine():
    sys.stderr.write("y" * 1_000_000 + "\\n")
def logs(services):
    for n in range(1000):
        services.log.info("again")
def unsendable():
    return {1, 2}
def endless():
    return "z" * 200_000
def garbage():
    os.write(4, b"what is this?\\n")
    signal.sigwait([signal.SIGUSR1])
def forged():
    os.write(4, b'{"t":"callResult","id":"one"}\\n')
    signal.sigwait([signal.SIGUSR1])
def flood():
    while True:
        os.write(4, b"x" * 65536)
def grandchild():
    return subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).pid
def buffers():
    kept = []
    while True:
        kept.append(b"1" * (16 << 20))
`,
  location: /bad\.py", line \d+, in throws/,
}

for (const [language, variant] of Object.entries({ node, python })) {
  const files = { [variant.file]: variant.text, [variant.good]: variant.goodText }
  const run = (host: Host, fn: string, more: { deadlineMs?: number; services?: boolean; signal?: AbortSignal } = {}) =>
    host.call({ module: 'bad', function: fn, args: [], deadlineMs: 20_000, ...more })
  const stillWorks = async (host: Host) => assert.equal(expectValue(await run(host, 'handle')), 'still here')

  describe(`a handler in ${language} that`, { skip: variant.skip, timeout }, () => {
    /** For handlers that do not end the process. Its grace period is long. */
    const shared = createSharedHost({ files, limits: { graceMs: 60_000, maxFrameBytes: 100_000 } })

    it('throws is reported with its message and the line, and the process lives on', async () => {
      const { host } = shared()
      const failure = expectFailure(await run(host, 'throws'))
      assert.deepEqual(
        [failure.kind, failure.killed, failure.started, failure.attribution],
        ['threw', false, true, 'own'],
      )
      assert.equal(failure.error.detail, 'bad.throws: TypeError: no such chat')
      assert.match(failure.stack, variant.location)
      assert.equal(expectFailure(await run(host, 'strange')).kind, 'threw')
      await stillWorks(host)
    })

    it('waits for ever and ignores its signal is killed at its deadline', async (t) => {
      const { host } = createTestHost(t, { files })
      const failure = expectFailure(await run(host, 'hang', { deadlineMs: 40 }))
      assert.deepEqual([failure.kind, failure.killed, failure.attribution], ['timeout', true, 'own'])
      await stillWorks(host)
      assert.deepEqual([host.status().starts, host.status().kills], [2, 1])
    })

    it('ends when it is cancelled has failed, and the process lives on', async () => {
      const { host } = shared()
      const late = expectFailure(await run(host, 'obeys', { deadlineMs: 40, services: true }))
      assert.deepEqual([late.kind, late.killed], ['timeout', false])
      const stop = new AbortController()
      await stillWorks(host)
      const call = run(host, 'obeys', { services: true, signal: stop.signal })
      stop.abort()
      const stopped = expectFailure(await call)
      assert.deepEqual([stopped.kind, stopped.killed], ['aborted', false])
    })

    it('waits for the gateway is cancelled at its deadline', async () => {
      const onRequest = () => new Promise(() => undefined)
      const { host } = shared()
      const call = { module: 'good', function: 'wait', args: [0], services: true, deadlineMs: 40, onRequest }
      const failure = expectFailure(await host.call(call))
      assert.deepEqual([failure.kind, failure.killed], ['timeout', false])
    })

    it('spins for ever is killed; other calls in flight have failed and are not repeated', async (t) => {
      let served = 0
      const asked = Promise.withResolvers<void>()
      const onRequest = () => {
        served += 1
        asked.resolve()
        return new Promise(() => undefined)
      }
      const { host } = createTestHost(t, { files, onRequest })
      const pending = host.call({ module: 'good', function: 'wait', args: [0], services: true })
      await asked.promise
      // Loads the module, so that the deadline begins with the handler also on a busy machine.
      await stillWorks(host)
      const failure = expectFailure(await run(host, 'spin', { deadlineMs: 100 }))
      assert.deepEqual([failure.kind, failure.killed], ['timeout', true])
      const other = expectFailure(await pending)
      assert.deepEqual([other.kind, other.started, other.killed], ['died', true, true])
      assert.match(other.error.message, /bad\.spin/)
      assert.equal(served, 1)
    })

    it('ends its process is reported with the exit code', async (t) => {
      const { host } = createTestHost(t, { files })
      const failure = expectFailure(await run(host, 'exit'))
      assert.deepEqual([failure.kind, failure.attribution, failure.killed], ['died', 'own', false])
      assert.match(failure.error.message, /\b3\b/)
      await stillWorks(host)
    })

    it('kills its process is reported with the signal', async (t) => {
      const { host } = createTestHost(t, { files })
      const failure = expectFailure(await run(host, 'killed'))
      assert.deepEqual([failure.kind, failure.attribution], ['died', 'own'])
      assert.match(failure.error.message, /SIGKILL/)
    })

    it('prints 10 MB still returns; the log keeps the beginning and the number of dropped bytes', async (t) => {
      const { host, log } = createTestHost(t, { files })
      assert.equal(expectValue(await run(host, 'chatter')), 'printed')
      await host.stop()
      const { fields } = await log.waitForEvent('host.output_dropped')
      assert.ok(Number(fields['bytes']) > 9_000_000, `only ${fields['bytes']} bytes were dropped`)
      const lines = log.records.filter(({ text }) => text.startsWith('xxx'))
      assert.ok(lines.length <= 200 && lines.length > 100, `${lines.length} lines were kept`)
      assert.deepEqual(lines[0]?.fields, { host: 'hooks', stream: 'stdout' })
    })

    it('prints one endless line has it truncated', async () => {
      const { host, log } = shared()
      await run(host, 'longLine')
      const { level, text } = await log.waitForLine(/^yyy/)
      assert.equal(level, 'warn')
      assert.ok(text.length < 2_100, `${text.length} characters were kept`)
    })

    it('logs too many lines has the rest dropped', async () => {
      const { host, log } = shared()
      await run(host, 'logs', { services: true })
      assert.ok(log.records.filter(({ text }) => text === 'again').length <= 200)
    })

    it('returns a value that is not JSON or too large fails alone', async () => {
      const { host } = shared()
      const ring = expectFailure(await run(host, 'unsendable'))
      assert.equal(ring.kind, 'unserialisable')
      const endless = expectFailure(await run(host, 'endless'))
      assert.equal(endless.kind, 'unserialisable')
      assert.match(endless.error.message, /\b100000\b/)
      await stillWorks(host)
      const { starts, kills } = host.status()
      assert.deepEqual({ starts, kills }, { starts: 1, kills: 0 }, 'the process was ended')
    })

    it('writes invalid data to the protocol pipe loses its process', async (t) => {
      const { host, log } = createTestHost(t, { files, limits: { maxFrameBytes: 100_000 } })
      for (const fn of ['garbage', 'forged', 'flood']) {
        const failure = expectFailure(await run(host, fn))
        assert.deepEqual([fn, failure.kind, failure.killed, failure.attribution], [fn, 'garbled', true, 'own'])
      }
      await stillWorks(host)
      await log.waitForEvent('host.protocol_error')
      assert.equal(host.status().kills, 3)
    })

    it('starts a child process has it killed with the host', async (t) => {
      const { host } = createTestHost(t, { files })
      const pid = Number(expectValue(await run(host, 'grandchild')))
      assert.equal(isAlive(pid), true)
      await host.stop()
      await waitForExit(pid)
    })

    it('allocates too much memory receives an error', async (t) => {
      const { host } = createTestHost(t, { files, limits: { memoryMb: 64 } })
      const failure = expectFailure(await run(host, 'buffers'))
      assert.equal(failure.kind, 'threw')
      assert.match(failure.error.message, /allocat|MemoryError/i)
      await stillWorks(host)
    })
  })
}

describe('a handler in JavaScript that', { timeout }, () => {
  it('fills the heap loses its process', async (t) => {
    const { host, log } = createTestHost(t, { files: { [node.file]: node.text }, limits: { memoryMb: 24 } })
    const failure = expectFailure(await host.call({ module: 'bad', function: 'exhaust', args: [] }))
    assert.deepEqual([failure.kind, failure.attribution], ['died', 'own'])
    await log.waitForLine(/heap out of memory/)
  })

  it('leaks a rejection, or throws in a timer, is logged with its module, and the process lives on', async (t) => {
    const { host, log } = createTestHost(t, {
      files: {
        'leaky.mjs': `
          export const handle = () => { Promise.reject(new Error('left alone')); return 'fine' }
          export const timer = () => { setTimeout(() => { throw new Error('too late') }, 1); return 'fine' }`,
      },
    })
    assert.equal(expectValue(await host.call({ module: 'leaky', args: [] })), 'fine')
    assert.equal(expectValue(await host.call({ module: 'leaky', function: 'timer', args: [] })), 'fine')
    const rejection = await log.waitForLine(/Error: left alone/)
    assert.deepEqual([rejection.level, rejection.fields['module']], ['error', 'leaky'])
    const error = await log.waitForLine(/Error: too late/)
    assert.equal(error.fields['module'], 'leaky')
    assert.equal(expectValue(await host.call({ module: 'leaky', args: [] })), 'fine')
    assert.equal(host.status().starts, 1)
  })

  it('ends the process is distinguished from the other calls in flight', async (t) => {
    const asked = Promise.withResolvers<void>()
    const onRequest = () => {
      asked.resolve()
      return new Promise(() => undefined)
    }
    const { host } = createTestHost(t, { files: { [node.file]: node.text, [node.good]: node.goodText }, onRequest })
    const waiting = host.call({ module: 'good', function: 'wait', args: [0], services: true })
    await asked.promise
    const failing = expectFailure(await host.call({ module: 'bad', function: 'exit', args: [] }))
    assert.equal(failing.attribution, 'own')
    const other = expectFailure(await waiting)
    assert.deepEqual([other.kind, other.attribution, other.started], ['died', 'other', true])
  })
})

describe('a handler in Python that', { skip: withoutPython, timeout }, () => {
  it('calls sys.exit has failed, and the process lives on', async (t) => {
    const { host } = createTestHost(t, {
      files: {
        'bad.py': `
import sys
def handle():
    sys.exit(3)
async def later():
    sys.exit("enough")
def fine():
    return "fine"`,
      },
    })
    const failure = expectFailure(await host.call({ module: 'bad', args: [] }))
    assert.deepEqual([failure.kind, failure.error.detail.includes('sys.exit(3)')], ['threw', true])
    const later = expectFailure(await host.call({ module: 'bad', function: 'later', args: [] }))
    assert.match(later.error.message, /sys\.exit\('enough'\)/)
    assert.equal(expectValue(await host.call({ module: 'bad', function: 'fine', args: [] })), 'fine')
    assert.equal(host.status().starts, 1)
  })

  it('leaves a failing thread or task behind is logged, and the process lives on', async (t) => {
    const { host, log } = createTestHost(t, {
      files: {
        'leaky.py': `
import asyncio, gc, threading
def fail():
    raise RuntimeError("left alone")
async def stray():
    raise RuntimeError("not awaited")
async def handle():
    threading.Thread(target=fail).start()
    task = asyncio.create_task(stray())
    await asyncio.sleep(0.01)
    del task
    gc.collect()
    return "fine"`,
      },
    })
    assert.equal(expectValue(await host.call({ module: 'leaky', args: [] })), 'fine')
    await log.waitForLine(/RuntimeError: left alone/)
    const { level, fields } = await log.waitForLine(/RuntimeError: not awaited/)
    assert.deepEqual([level, fields], ['warn', { host: 'hooks', module: 'leaky', stream: 'stderr' }])
    assert.equal(expectValue(await host.call({ module: 'leaky', args: [] })), 'fine')
    assert.equal(host.status().starts, 1)
  })

  it('blocks its thread reports the line where it was cancelled, and other calls go on', async (t) => {
    const { host, log } = createTestHost(t, {
      limits: { graceMs: 300 },
      files: {
        'slow.py': 'import time\ndef handle():\n    print("begun")\n    time.sleep(1000)',
        'quick.py': 'def handle():\n    return "quick"',
      },
    })
    const stop = new AbortController()
    const slow = host.call({ module: 'slow', args: [], signal: stop.signal })
    await log.waitForLine(/begun/)
    assert.equal(expectValue(await host.call({ module: 'quick', args: [] })), 'quick')
    stop.abort()
    const failure = expectFailure(await slow)
    assert.deepEqual([failure.kind, failure.attribution], ['aborted', 'own'])
    assert.match(failure.stack, /slow\.py", line 4, in handle\n +time\.sleep\(1000\)/)
  })

  it('forks returns one result; that of the child process is ignored', async (t) => {
    const { host, folder } = createTestHost(t, {
      files: {
        'forks.py': `
import os
def handle(file):
    pid = os.fork()
    if pid == 0:
        open(file, "w").write("the child went on")
        return "child"
    os.waitpid(pid, 0)
    return open(file).read()`,
      },
    })
    const args = [join(folder, 'note')]
    assert.equal(expectValue(await host.call({ module: 'forks', args })), 'the child went on')
    assert.equal(expectValue(await host.call({ module: 'forks', args })), 'the child went on')
    assert.equal(host.status().starts, 1)
  })

  it('returns NaN fails alone', async (t) => {
    const { host } = createTestHost(t, { files: { 'nan.py': 'def handle():\n    return float("nan")' } })
    assert.equal(expectFailure(await host.call({ module: 'nan', args: [] })).kind, 'unserialisable')
  })
})
