/**
 * Promises of a provider about failures of the vendor and the network: each one is a `ModelError` with the right kind.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ModelError, type ModelErrorKind } from '../../../src/agent/models/provider.ts'
import type { ModelReply } from '../servers/model-script.ts'
import {
  CONTRACT_KEY,
  callOnce,
  contractInput,
  lastRequest,
  matchesProviderError,
  type ProviderTest,
  runCall,
} from './provider-run.ts'

export function failureRequirements({ build, server: serverOf }: ProviderTest): void {
  it('maps error statuses to kinds and does not retry', async () => {
    const cases: readonly (readonly [number, ModelErrorKind])[] = [
      [400, 'invalid-request'],
      [401, 'auth'],
      [402, 'billing'],
      [403, 'auth'],
      [404, 'invalid-request'],
      [408, 'overloaded'],
      [409, 'overloaded'],
      [413, 'context'],
      [422, 'invalid-request'],
      [429, 'rate-limit'],
      [500, 'overloaded'],
      [503, 'overloaded'],
      [529, 'overloaded'],
    ]
    for (const [status, kind] of cases) {
      serverOf().enqueue({ error: { status } })
      const before = serverOf().requestCount
      await assert.rejects(callOnce(build()), matchesProviderError(kind, status))
      assert.equal(serverOf().requestCount, before + 1)
    }
  })

  it('reports the wait time of a rate limit', async () => {
    serverOf().enqueue({ error: { status: 429, headers: { 'retry-after': '7' } } })
    await assert.rejects(callOnce(build()), (error) => error instanceof ModelError && error.retryAfterMs === 7000)
  })

  it('recognises a full context and an empty account', async () => {
    serverOf().enqueue(
      { error: { status: 400, body: { error: { message: 'prompt is too long: 250000 tokens > 200000 maximum' } } } },
      { error: { status: 400, body: { error: { message: 'Too long.', code: 'context_length_exceeded' } } } },
      {
        error: {
          status: 429,
          body: { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } },
        },
      },
      { error: { status: 400, body: { error: { message: 'Your credit balance is too low to access the API' } } } },
    )
    for (const kind of ['context', 'context', 'billing', 'billing'] as const) {
      await assert.rejects(callOnce(build()), matchesProviderError(kind))
    }
  })

  it('reports an error event of the stream', async () => {
    serverOf().enqueue({ text: 'one', streamError: { type: 'overloaded_error', message: 'Overloaded' } })
    await assert.rejects(callOnce(build()), matchesProviderError('overloaded', undefined, /Overloaded/))
  })

  const failures: readonly (readonly [string, ModelReply, ModelErrorKind])[] = [
    ['a connection that is reset during the response', { text: 'one two three', cutAfter: 4 }, 'network'],
    ['a stream that ends too early', { text: 'one two three', endAfter: 4 }, 'network'],
    ['an empty stream', { raw: { body: '' } }, 'network'],
    ['a chunk that is not JSON', { text: 'one two', endAfter: 4, garbage: '{"half": ' }, 'bad-response'],
    ['a chunk that is JSON but not an object', { text: 'one two', endAfter: 4, garbage: '["list"]' }, 'bad-response'],
    ['JSON nested a thousand deep', { text: 'one', endAfter: 3, garbage: nested(1000) }, 'bad-response'],
    ['a web page', { raw: { headers: { 'content-type': 'text/html' }, body: '<h1>Log in</h1>' } }, 'bad-response'],
    [
      'a web page with the content type of a stream',
      { raw: { body: '<html>\n<h1>Log in</h1>\n</html>\n' } },
      'bad-response',
    ],
    [
      'a JSON document instead of a stream',
      { raw: { headers: { 'content-type': 'application/json' }, body: '{"id":"x"}' } },
      'bad-response',
    ],
    [
      'an error with a success status',
      {
        raw: {
          headers: { 'content-type': 'application/json' },
          body: '{"error":{"type":"overloaded_error","message":"busy"}}',
        },
      },
      'overloaded',
    ],
    ['a redirect', { raw: { status: 307, headers: { location: 'http://127.0.0.1:1/' }, body: '' } }, 'invalid-request'],
    [
      'a proxy that fails',
      { error: { status: 502, body: '<html><title>502 Bad Gateway</title></html>' } },
      'overloaded',
    ],
  ]
  for (const [what, reply, kind] of failures) {
    it(`reports ${what}`, async () => {
      serverOf().enqueue(reply)
      await assert.rejects(callOnce(build()), matchesProviderError(kind))
    })
  }

  for (const hang of ['headers', 'stream'] as const) {
    it(`times out if the vendor is silent (${hang})`, async () => {
      serverOf().enqueue({ text: 'one two', hang, hangAfter: 4 })
      const before = serverOf().requestCount
      await assert.rejects(callOnce(build({ idleTimeoutMs: 40 })), matchesProviderError('timeout'))
      // On a busy machine the timeout can precede the arrival of the request.
      if (serverOf().requestCount > before) assert.equal(await lastRequest(serverOf()).closed, true)
    })
  }

  it('prefers the timeout of the request (in seconds) to its own', async () => {
    serverOf().enqueue({ hang: 'headers' })
    const provider = build()
    await assert.rejects(
      runCall(provider, { ...provider.buildRequest(contractInput), timeout: 0.04 }),
      matchesProviderError('timeout'),
    )
  })

  it('aborts a response that exceeds the size limit', async () => {
    serverOf().enqueue({ text: 'again and again', endAfter: 4, endless: true })
    await assert.rejects(callOnce(build({ maxChars: 2000 })), matchesProviderError('bad-response'))
    assert.equal(await lastRequest(serverOf()).closed, true)
  })

  it('aborts a line that exceeds the size limit', async () => {
    serverOf().enqueue({ raw: { body: `data: {"text": "${'x'.repeat(5000)}` } })
    await assert.rejects(callOnce(build({ maxChars: 2000 })), matchesProviderError('bad-response'))
  })

  it('removes the API key from errors', async () => {
    const echo = `Incorrect API key provided: ${CONTRACT_KEY}. Header: Bearer ${CONTRACT_KEY}`
    serverOf().enqueue(
      { error: { status: 401, body: { error: { message: echo } } } },
      { error: { status: 500, body: echo } },
      { text: 'one', streamError: { type: 'api_error', message: echo } },
    )
    for (let count = 0; count < 3; count += 1) {
      await assert.rejects(callOnce(build()), (error) => {
        assert.ok(error instanceof ModelError)
        assert.ok(!JSON.stringify([error.message, error.stack, String(error.cause)]).includes(CONTRACT_KEY))
        return true
      })
    }
  })
}

function nested(depth: number): string {
  return `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
}
