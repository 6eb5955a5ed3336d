import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../manual-clock.ts'
import { createFaults, type FaultOptions } from './faults.ts'

/** A vendor that counts what it applied. */
async function startVendor(t: TestContext, options: FaultOptions = {}) {
  const faults = createFaults(options)
  const applied: string[] = []
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://vendor')
    const chat = searchParams.get('chat')
    const method = pathname.slice(1)
    const met = await faults.intercept({ method, ...(chat === null ? {} : { chat }) }, response)
    if (met === 'answered') return
    applied.push(method)
    if (met === 'lose-answer') return faults.cut(response)
    response.end('done')
  })
  faults.watch(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => faults.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const url = `http://127.0.0.1:${address.port}`
  return {
    faults,
    applied,
    async call(path: string, signal?: AbortSignal): Promise<string> {
      try {
        const response = await fetch(`${url}/${path}`, signal === undefined ? {} : { signal })
        const wait = response.headers.get('retry-after')
        return `${response.status}${wait === null ? '' : ` after ${wait}`} ${await response.text()}`
      } catch (error) {
        if (signal?.aborted) return 'nothing'
        assert.ok(error instanceof Error)
        return Object(error.cause).code
      }
    },
  }
}

test('a call that is told to fail gets that answer and has no effect, the next one passes', async (t) => {
  const { faults, applied, call } = await startVendor(t)
  const came: string[] = []
  faults.onCall(({ method }) => came.push(method))
  faults.respond('send', { status: 403, body: { description: 'blocked' } })
  assert.equal(await call('look'), '200 done')
  assert.equal(await call('send'), '403 {"description":"blocked"}')
  assert.equal(await call('send'), '200 done')
  assert.deepEqual(applied, ['look', 'send'])
  assert.deepEqual(came, ['look', 'send', 'send'])
  assert.deepEqual([faults.calls('send'), faults.calls(/^[ls]/), faults.calls()], [2, 3, 3])
})

test('a reset comes before the effect, a lost answer after it', async (t) => {
  const { faults, applied, call } = await startVendor(t)
  faults.reset('send')
  assert.equal(await call('send'), 'ECONNRESET')
  assert.deepEqual(applied, [])
  faults.dropResponse('send', 2)
  assert.equal(await call('send'), 'ECONNRESET')
  assert.equal(await call('send'), 'ECONNRESET')
  assert.equal(await call('send'), '200 done')
  assert.deepEqual(applied, ['send', 'send', 'send'])
})

test('calls are held until they are released, or are delayed', async (t) => {
  const { faults, applied, call } = await startVendor(t)
  const release = faults.hold('send')
  const held = call('send')
  assert.equal(await call('look'), '200 done')
  assert.deepEqual(applied, ['look'])
  release()
  assert.equal(await held, '200 done')
  faults.delay('send', 1)
  assert.equal(await call('send'), '200 done')
})

test('a rate limit begins with the first call, and tells who came too early and how late the first one was', async (t) => {
  const clock = createManualClock()
  const { faults, applied, call } = await startVendor(t, { now: clock.now, unitMs: 1_000 })
  const limit = faults.limit({ on: 'send', ms: 1_500 })
  clock.advance(60_000)
  assert.equal(await call('send'), '429 after 2 too many calls')
  assert.equal(await call('look'), '200 done')
  clock.advance(20)
  assert.equal(await call('send'), '429 after 2 too many calls', 'was under way')
  assert.equal(faults.earlyCalls(), 0)
  clock.advance(1_000)
  assert.equal(await call('send'), '429 after 1 too many calls', 'too early')
  assert.equal(faults.earlyCalls(), 1)
  clock.advance(1_040)
  assert.equal(await call('send'), '200 done')
  assert.deepEqual([limit.refused(), limit.earlyCalls(), limit.lateMs()], [3, 1, [40]])
  assert.deepEqual(applied, ['look', 'send'])
})

test('a limit on one chat leaves the others alone, and may come back', async (t) => {
  const clock = createManualClock()
  const { faults, call } = await startVendor(t, { now: clock.now })
  const limit = faults.limit({ ms: 1_000, chat: 'a', windows: 2 })
  assert.match(await call('send?chat=a'), /^429/)
  assert.match(await call('send?chat=b'), /^200/)
  clock.advance(1_000)
  assert.match(await call('send?chat=a'), /^429/)
  clock.advance(1_007)
  assert.match(await call('send?chat=a'), /^200/)
  assert.deepEqual([limit.lateMs(), limit.isOver(), faults.earlyCalls()], [[0, 7], true, 0])
})

test('a vendor goes away in three ways and comes back at the same address', async (t) => {
  const { faults, applied, call } = await startVendor(t)
  assert.equal(await call('before'), '200 done')
  for (const [how, seen] of [
    ['refuse', 'ECONNREFUSED'],
    ['cut', 'ECONNRESET'],
  ] as const) {
    faults.startOutage(how)
    assert.equal(await call('away'), seen)
    await faults.endOutage()
    assert.equal(await call('back'), '200 done')
  }
  assert.deepEqual(applied, ['before', 'back', 'back'])
})

test('a half-open connection says nothing until it is reset', async (t) => {
  const { faults, applied, call } = await startVendor(t)
  await call('before')
  faults.startOutage('silent')
  const cancel = new AbortController()
  const waiting = call('away', cancel.signal)
  const another = call('away')
  for (let round = 0; round < 100; round += 1) await new Promise(setImmediate)
  cancel.abort()
  assert.equal(await waiting, 'nothing')
  await faults.endOutage()
  assert.equal(await another, 'ECONNRESET')
  assert.equal(await call('back'), '200 done')
  assert.deepEqual(applied, ['before', 'back'])
})

test('a stranded connection stays silent while new ones work, until it is reset', async (t) => {
  const { faults, call } = await startVendor(t)
  await call('before')
  // The client has it back among its idle ones a moment after the answer.
  for (let round = 0; round < 100; round += 1) await new Promise(setImmediate)
  const reset = faults.freezeConnections()
  const waiting = call('over the old connection')
  assert.equal(await call('over a new one'), '200 done')
  reset()
  assert.equal(await waiting, 'ECONNRESET')
  assert.equal(await call('after'), '200 done')
})

test('faults that have not happened can be forgotten', async (t) => {
  const { faults, call } = await startVendor(t)
  faults.respond('send', { status: 500 })
  faults.limit({ ms: 60_000 })
  faults.clear()
  assert.equal(await call('send'), '200 done')
})
