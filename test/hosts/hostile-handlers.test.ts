/**
 * Handlers that turn against their host: through its pipes, its log and what they throw. The gateway stays small and
 * whole, and says whose doing it was.
 */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import type { Host } from '../../src/hosts/contract.ts'
import { readThrottled } from '../../src/hosts/throttled-reader.ts'
import { exceedsMaxDepth } from '../../src/lib/json.ts'
import { createSharedHost, createTestHost, expectFailure, expectValue, timeout, withoutPython } from './support.ts'

const node = {
  skip: false as const,
  files: {
    'bad.mjs': `
import { closeSync, writeSync } from 'node:fs'
const say = (text) => { const bytes = Buffer.from(text + '\\n'); for (let sent = 0; sent < bytes.length;) sent += writeSync(4, bytes, sent) }
const forever = () => new Promise(() => {})
export const handle = () => 'still here'
export const traps = () => { throw new Proxy(new Error('x'), { get() { throw new Error('trap') }, getPrototypeOf() { throw new Error('trap') } }) }
export const trap = () => { const error = new Error('x'); Object.defineProperty(error, 'stack', { get() { throw new Error('trap') } }); throw error }
export const resists = () => ({ toJSON() { throw 'no' } })
export const logs = (services) => { services.log.info('much', { text: 'x'.repeat(2_000_000) }); return 'logged' }
export const forgesLog = () => {
  say('{"t":"log","level":"info","message":"wide","fields":' + JSON.stringify(Object.fromEntries(Array.from({ length: 500 }, (_, n) => ['f' + n, 'x'.repeat(50)]))) + '}')
  say('{"t":"log","level":"info","message":"long","fields":{"a":{"b":"' + 'x'.repeat(90_000) + '"}}}')
  return 'forged'
}
export const forgesStack = () => { for (let id = 1; id < 20; id++) say('{"t":"cancelAck","id":' + id + ',"stack":"' + 's'.repeat(90_000) + '"}'); return forever() }
export const forgesFailure = () => { for (let id = 1; id < 20; id++) say('{"t":"callError","kind":"threw","id":' + id + ',"message":"' + 'm'.repeat(90_000) + '","stack":""}'); return forever() }
export const nests = () => { say('{"t":"log","level":"info","message":"deep","fields":{"a":' + '['.repeat(40_000) + ']'.repeat(40_000) + '}}'); return forever() }
export const closesOut = () => { closeSync(4); return forever() }
export const closesIn = () => { closeSync(3); return forever() }
export const asks = () => { for (;;) say('{"t":"request","id":1,"call":1,"method":"send","args":[]}') }
`,
  },
}

const python = {
  skip: withoutPython,
  files: {
    'bad.py': `
import json, os, time
def say(text):
    rest = memoryview(text.encode() + b"\\n")
    while rest:
        rest = rest[os.write(4, rest):]
def forever():
    while True:
        time.sleep(1000)
class Trap(Exception):
    def __str__(self):
        raise KeyboardInterrupt()
class Broken(dict):
    def items(self):
        raise OSError("no")
def handle():
    return "still here"
def traps():
    raise Trap()
def trap():
    raise SystemExit(Trap())
def resists():
    return Broken(a=1)
def logs(services):
    services.log.info("much", text="x" * 2_000_000, broken=Broken(a=1))
    return "logged"
def forgesLog():
    say('{"t":"log","level":"info","message":"wide","fields":' + json.dumps({"f%d" % n: "x" * 50 for n in range(500)}) + "}")
    say('{"t":"log","level":"info","message":"long","fields":{"a":{"b":"' + "x" * 90_000 + '"}}}')
    return "forged"
def forgesStack():
    for number in range(1, 20):
        say('{"t":"cancelAck","id":%d,"stack":"%s"}' % (number, "s" * 90_000))
    forever()
def forgesFailure():
    for number in range(1, 20):
        say('{"t":"callError","kind":"threw","id":%d,"message":"%s","stack":""}' % (number, "m" * 90_000))
    forever()
def nests():
    say('{"t":"log","level":"info","message":"deep","fields":{"a":' + "[" * 40_000 + "]" * 40_000 + "}}")
    forever()
def closesOut():
    os.close(4)
    forever()
def closesIn():
    os.close(3)
    forever()
def asks():
    while True:
        say('{"t":"request","id":1,"call":1,"method":"send","args":[]}')
`,
  },
}

for (const [language, { files, skip }] of Object.entries({ node, python })) {
  const limits = { maxFrameBytes: 100_000 }
  const run = (host: Host, fn: string, more: { deadlineMs?: number; services?: boolean } = {}) =>
    host.call({ module: 'bad', function: fn, args: [], ...more })
  const stillWorks = async (host: Host) => assert.equal(expectValue(await run(host, 'handle')), 'still here')

  describe(`a handler in ${language} that`, { skip, timeout }, () => {
    const shared = createSharedHost({ files, limits: { ...limits, graceMs: 60_000 } })

    it('throws a value that cannot be inspected has failed, and its process lives on', async () => {
      const { host } = shared()
      for (const fn of ['traps', 'trap']) assert.equal(expectFailure(await run(host, fn)).kind, 'threw', fn)
      await stillWorks(host)
      assert.equal(host.status().starts, 1)
    })

    it('returns a value that cannot be serialised fails alone', async () => {
      const { host } = shared()
      assert.equal(expectFailure(await run(host, 'resists')).kind, 'unserialisable')
      await stillWorks(host)
      assert.equal(host.status().starts, 1)
    })

    it('logs megabytes keeps its process, and the log keeps the beginning', async () => {
      const { host, log } = shared()
      assert.equal(expectValue(await run(host, 'logs', { services: true })), 'logged')
      const { fields } = await log.waitForLine(/^much$/)
      assert.ok(JSON.stringify(fields).length < 20_000, `${JSON.stringify(fields).length} characters were kept`)
      assert.equal(host.status().starts, 1)
    })

    it('writes log frames itself has them truncated, too', async () => {
      const { host, log } = shared()
      assert.equal(expectValue(await run(host, 'forgesLog')), 'forged')
      for (const text of [/^wide$/, /^long$/]) {
        const { fields } = await log.waitForLine(text)
        assert.ok(JSON.stringify(fields).length < 10_000, `${text}: ${JSON.stringify(fields).length} characters`)
      }
    })

    it('forges endless stacks and errors has them truncated', async (t) => {
      const { host } = createTestHost(t, { files, limits })
      const stuck = expectFailure(await run(host, 'forgesStack', { deadlineMs: 200 }))
      assert.deepEqual([stuck.kind, stuck.stack.length <= 10_000], ['timeout', true])
      const failed = expectFailure(await run(host, 'forgesFailure', { deadlineMs: 20_000 }))
      assert.ok(failed.error.message.length < 11_000, `${failed.error.message.length} characters`)
    })

    it('sends endlessly nested JSON loses its process before it is parsed', async (t) => {
      const { host } = createTestHost(t, { files, limits })
      const failure = expectFailure(await run(host, 'nests'))
      assert.deepEqual([failure.kind, failure.attribution, failure.killed], ['garbled', 'own', true])
      await stillWorks(host)
    })

    it('closes the pipe for its results is detected without a deadline', async (t) => {
      const { host } = createTestHost(t, { files, limits })
      const failure = expectFailure(await run(host, 'closesOut'))
      assert.deepEqual([failure.kind, failure.attribution, failure.killed], ['garbled', 'own', true])
      assert.equal(failure.error.code, 'hosts/garbled')
      await stillWorks(host)
    })

    it('closes the pipe for its requests ends at its deadline at the latest', async (t) => {
      const { host } = createTestHost(t, { files, limits })
      assert.equal(expectFailure(await run(host, 'closesIn', { deadlineMs: 200 })).attribution, 'own')
      await stillWorks(host)
    })

    // Python reads on a thread of its own, whatever a handler does.
    it('sends endless requests and never reads a response is killed before responses accumulate', {
      skip: language === 'python',
    }, async (t) => {
      const { host } = createTestHost(t, { files, limits })
      const failure = expectFailure(await run(host, 'asks'))
      assert.deepEqual([failure.kind, failure.attribution, failure.killed], ['garbled', 'own', true])
      assert.equal(failure.error.code, 'hosts/garbled')
      await stillWorks(host)
    })
  })
}

describe('reading from a host', { timeout }, () => {
  it('measures how deep a line is nested, and ignores brackets in strings', () => {
    const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}1${']}'.repeat(depth / 2)}`
    assert.deepEqual([exceedsMaxDepth(nested(1_000)), exceedsMaxDepth(nested(1_002))], [false, true])
    for (const text of ['[', '"[', '\\"[', '\\\\[{']) {
      assert.equal(exceedsMaxDepth(JSON.stringify({ a: text.repeat(3_000), b: [text] })), false, text)
    }
    assert.equal(exceedsMaxDepth(`"\\\\",${'['.repeat(3_000)}`), true)
    assert.equal(exceedsMaxDepth(`"${'['.repeat(3_000)}`), false)
  })

  it('pauses when it has used too much time, and continues afterwards', async (t) => {
    const stream = new PassThrough()
    const over = new AbortController()
    t.after(() => over.abort())
    let pieces = 0
    const slow = () => {
      pieces += 1
      for (const end = performance.now() + 110; performance.now() < end; );
    }
    readThrottled(stream, slow, over.signal)
    stream.write('one')
    stream.write('two')
    assert.deepEqual([pieces, stream.isPaused()], [1, true])
    await new Promise((resolve) => stream.once('resume', resolve))
    while (pieces < 2) await new Promise((resolve) => setImmediate(resolve))
  })
})
