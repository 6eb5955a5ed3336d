import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCatalogue } from '../../src/lib/error-catalogue.ts'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'

const busy = (status: number): ModelReply => ({ error: { status, headers: { 'retry-after-ms': '1' } } })

test('a request to a busy model is retried without a notice', async (t) => {
  const gateway = await startTestGateway(t, { replies: [busy(429), busy(500), busy(529)] })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  assert.equal(gateway.model.requestCount, 4)
  assert.deepEqual(gateway.replies(), ['You said: hello'])
})

for (const [status, code] of [
  [429, 'provider/rate-limit'],
  [500, 'provider/overloaded'],
] as const) {
  test(`a model that keeps failing with ${status} is retried as configured, then the user is notified`, async (t) => {
    const gateway = await startTestGateway(t, {
      replies: [busy(status), busy(status), busy(status)],
      config: { agent: { max_retries: 2 } },
    })
    await gateway.say('hello')
    const { text } = await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
    assert.ok(text.includes(`(${code})`), text)
    assert.ok(text.includes(errorCatalogue[code].hint), text)
    assert.equal(gateway.model.requestCount, 3)
    await gateway.say('once more')
    await gateway.waitForReply('once more')
  })
}

const failures: readonly { what: string; error: ModelReply['error']; code: string; hint: RegExp }[] = [
  { what: 'a wrong key', error: { status: 401 }, code: 'provider/auth', hint: /hermes auth list/ },
  {
    what: 'an empty account',
    error: { status: 429, body: { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } } },
    code: 'provider/billing',
    hint: /account/,
  },
  {
    what: 'a conversation that is too long',
    error: { status: 400, body: { error: { message: 'too long', code: 'context_length_exceeded' } } },
    code: 'provider/context',
    hint: /\/new/,
  },
  {
    what: 'a model that does not exist',
    error: { status: 404, body: { error: { message: 'The model test-model does not exist' } } },
    code: 'provider/invalid-request',
    hint: /`model`.*test-model/s,
  },
]

for (const { what, error, code, hint } of failures) {
  test(`${what} is reported without a retry, with its code and a hint`, async (t) => {
    const gateway = await startTestGateway(t, { replies: [{ error }] })
    await gateway.say('hello')
    const { text, kind } = await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
    assert.ok(text.includes(`(${code})`), text)
    assert.match(text, hint)
    assert.equal(kind, 'notice')
    assert.ok(!text.includes('test-key'))
    assert.equal(gateway.model.requestCount, 1)
  })
}

test('a missing model in the configuration is reported with the key to set', async (t) => {
  const gateway = await startTestGateway(t, { config: { model: '' } })
  await gateway.say('hello')
  const { text } = await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
  assert.match(text, /\(config\/no-model\).*Set `model`/s)
  assert.equal(text.match(/Set `model`/g)?.length, 1)
})

test('an unreachable model server is reported with its URL', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { base_url: 'http://127.0.0.1:9/v1', agent: { max_retries: 0 } },
  })
  await gateway.say('hello')
  const { text } = await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
  assert.match(text, /\(provider\/network\).*base_url.*127\.0\.0\.1:9/s)
})
