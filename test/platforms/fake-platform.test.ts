import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLog } from '../../src/lib/log.ts'
import { discoverPlatforms, loadPlatform } from '../../src/platforms/registry.ts'
import { fakeUnderTest } from '../kit/contracts/fake-under-test.ts'
import { platformContract } from '../kit/contracts/platform.ts'
import { installFakePlatform } from '../kit/fake-platform.ts'
import { createAdapter } from '../kit/fake-platform-adapter.ts'
import { tempHome } from '../kit/temp-home.ts'

const { signal } = new AbortController()
const target = { platform: 'fake', account: 'default', chatId: 'chat' }
const reply = { deliveryId: 'd1', target, text: 'The answer.', kind: 'reply' as const }

platformContract('the fake platform of the test kit', fakeUnderTest)

test('the fake platform fails as configured, and the adapter returns the problem', async (t) => {
  const { platform, adapter, close } = await fakeUnderTest()
  t.after(close)
  for (const problem of ['rate-limited', 'temporary', 'rejected', 'unauthorised'] as const) {
    platform.failNext(problem, { retryAfterMs: 1_500 })
    const result = await adapter.send(reply, signal)
    assert.ok(!result.success)
    assert.equal(result.problem, problem)
    assert.equal(result.retryAfterMs, problem === 'rate-limited' ? 1_500 : undefined)
  }
  assert.deepEqual(platform.shown(), [])
})

test('after a lost response the message has arrived but its result is unknown', async (t) => {
  const { platform, adapter, close } = await fakeUnderTest()
  t.after(close)
  platform.dropResponse()
  const result = await adapter.send(reply, signal)
  assert.ok(!result.success)
  assert.equal(result.maybeSent, true)
  assert.deepEqual(
    platform.shown().map(({ text }) => text),
    ['The answer.'],
  )
  assert.deepEqual(await adapter.resolveUnknown?.(reply, signal), { sent: true, messageId: 'm1' })
})

test('an adapter reconnects after a lost connection and reports both', async (t) => {
  const { platform, gateway, adapter, say, close } = await fakeUnderTest()
  t.after(close)
  await adapter.connect(signal)
  await say('before', '1')
  platform.disconnect()
  const missed = platform.say('while away', { id: '2' })
  while (gateway.healthReports.length === 0) await new Promise(setImmediate)
  platform.reconnect()
  await missed
  assert.deepEqual(
    gateway.ingestedEvents.map(({ event }) => event.text),
    ['before', 'while away'],
  )
  assert.deepEqual(
    gateway.healthReports.map(({ state }) => state),
    ['degraded', 'connected'],
  )
})

test('the fake platform can be installed into a home, where the gateway finds it', async (t) => {
  const home = tempHome(t)
  installFakePlatform(home)
  const { platforms, invalid } = discoverPlatforms({ directories: [join(home, 'platforms')], log: silentLog })
  assert.deepEqual(invalid, [])
  const [fake] = platforms
  assert.ok(fake)
  assert.deepEqual(fake.required, ['url', 'token'])
  assert.equal((await loadPlatform(fake)).createAdapter, createAdapter)
})

test('a button is shown, pressed once and removed by an edit', async (t) => {
  const { platform, adapter, gateway, close } = await fakeUnderTest()
  t.after(close)
  await adapter.connect(signal)
  gateway.answerPresses({ status: 'stale', text: 'Too late.' })
  const sent = await adapter.send({ ...reply, buttons: [{ id: 'sc:once:1', label: 'Once' }] }, signal)
  assert.ok(sent.success && sent.messageId !== undefined)
  const [shown] = platform.shown()
  assert.ok(shown !== undefined)
  assert.deepEqual(await platform.press(shown, 'Once', { user: 'ada' }), { status: 'stale', text: 'Too late.' })
  const [press] = gateway.presses
  assert.deepEqual([press?.buttonId, press?.messageId, press?.source.userId], ['sc:once:1', sent.messageId, 'ada'])
  await adapter.edit?.(sent.messageId, reply, true, signal)
  assert.deepEqual(shown.buttons, [])
  assert.throws(() => platform.press(shown, 'Once'), /\bOnce\b/)
})
