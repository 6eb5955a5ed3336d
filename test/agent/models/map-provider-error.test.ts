import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  classifyFailure,
  failureToModelError,
  mapProviderError,
  parseChunkFailure,
  parseProviderFailure,
  parseResetMs,
  parseRetryAfterMs,
  redactKeys,
} from '../../../src/agent/models/map-provider-error.ts'
import { ModelError } from '../../../src/agent/models/provider.ts'
import { isFailureChunk } from '../../../src/agent/models/streaming-provider.ts'

const context = { host: 'api.example.com', secrets: ['top-secret-value'], now: () => 1_000_000 }

test('the message is found in every shape in which vendors report errors', () => {
  const bodies = [
    { error: { message: 'no such model' } },
    { error: 'no such model' },
    { type: 'error', message: 'no such model' },
    { detail: 'no such model' },
    [{ error: { message: 'no such model' } }],
    'no such model',
    '<html><head><title>no such model</title></head><body>nginx</body></html>',
  ]
  for (const body of bodies) assert.equal(parseProviderFailure(body).message, 'no such model')
  assert.match(parseProviderFailure({ detail: [{ loc: ['body'], msg: 'field required' }] }).message, /field required/)
})

test('the text of an error decides when its status is misleading', () => {
  const cases = [
    [{ status: 400, message: "This model's maximum context length is 8192 tokens" }, 'context'],
    [
      { status: 400, message: 'the request exceeds the available context size', type: 'exceed_context_size_error' },
      'context',
    ],
    [{ status: 403, message: 'billing is not active' }, 'billing'],
    [{ status: 429, message: 'slow down', code: 'rate_limit_exceeded' }, 'rate-limit'],
    [{ status: 400, message: 'bad key', code: 'invalid_api_key' }, 'auth'],
    [{ status: 500, message: 'prompt is too long for the billing service' }, 'overloaded'],
    [{ status: undefined, message: 'busy', type: 'overloaded_error' }, 'overloaded'],
    [{ status: undefined, message: 'slow down', type: 'rate_limit_error' }, 'rate-limit'],
    [{ status: undefined, message: 'no', type: 'invalid_request_error' }, 'invalid-request'],
    [{ status: undefined, message: 'no', type: 'authentication_error' }, 'auth'],
    [{ status: undefined, message: 'something new' }, 'overloaded'],
  ] as const
  for (const [failure, kind] of cases) {
    assert.equal(classifyFailure({ type: '', code: '', ...failure }), kind, JSON.stringify(failure))
  }
})

test('the upstream status that a router puts into the code is used', () => {
  assert.equal(parseProviderFailure({ error: { code: 503, message: 'upstream' } }).status, 503)
  assert.equal(parseChunkFailure({ error: { code: 429, message: 'x' } }).status, 429)
})

test('only chunks that report an error count as an error', () => {
  for (const chunk of [{ id: 'x', choices: [], error: null }, { type: 'message_start' }])
    assert.equal(isFailureChunk(chunk), false)
  const failed = { type: 'response.failed', response: { error: { code: 'server_error', message: 'm' } } }
  const error = { type: 'error', code: 'server_error', message: 'm' }
  for (const chunk of [failed, error, { error: 'm' }]) {
    assert.equal(isFailureChunk(chunk), true)
    assert.equal(parseChunkFailure(chunk).message, 'm')
  }
  assert.equal(parseChunkFailure(error).code, 'server_error')
})

test('retry-after is read as seconds, milliseconds or a date, and invalid values are ignored', () => {
  const after = (headers: Record<string, string>) => parseRetryAfterMs(new Headers(headers), 1_000_000)
  assert.equal(after({ 'retry-after': '7' }), 7000)
  assert.equal(after({ 'retry-after': '0.5' }), 500)
  assert.equal(after({ 'retry-after-ms': '123.4', 'retry-after': '9' }), 124)
  assert.equal(after({ 'retry-after': new Date(1_005_000).toUTCString() }), 5000)
  assert.equal(after({ 'retry-after': new Date(1000).toUTCString() }), 0)
  assert.equal(after({ 'retry-after': 'soon' }), undefined)
  assert.equal(after({ 'retry-after': '-5' }) ?? 0, 0)
  assert.equal(after({}), undefined)
})

test('neither known keys nor text that looks like a key appear in a message', () => {
  assert.equal(redactKeys('a top-secret-value b', ['top-secret-value']), 'a [key] b')
  assert.equal(redactKeys('key sk-proj-abcdef123456 and Bearer abc.def', []), 'key [key] and [key]')
  const secret = 'top-secret-value'
  const encoded = [Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')]
  for (const form of [...encoded, [...secret].reverse().join('')])
    assert.doesNotMatch(redactKeys(`is ${form} yours?`, [secret]), new RegExp(form), form)
  assert.equal(redactKeys('nothing to hide', ['', 'hi']), 'nothing to hide')
})

test('the reset of the limit that is used up is read from the headers of each vendor', () => {
  const now = 1_700_000_000_000
  const after = (headers: Record<string, string>, body: unknown = {}) => parseResetMs(new Headers(headers), body, now)
  const openai = { 'x-ratelimit-remaining-requests': '59', 'x-ratelimit-reset-requests': '6m0s' }
  assert.equal(after({ ...openai, 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1.5s' }), 1_500)
  assert.equal(after({ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1h2m3s' }), 3_723_000)
  assert.equal(after({ 'x-ratelimit-reset-requests': '20ms' }), 20)
  assert.equal(after({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now + 90_000) }), 90_000)
  assert.equal(after({ 'x-ratelimit-reset': String(now / 1_000 + 60) }), 60_000)
  assert.equal(after({ 'ratelimit-remaining': '0', 'ratelimit-reset': '30' }), 30_000)
  const anthropic = { 'anthropic-ratelimit-requests-remaining': '10', 'anthropic-ratelimit-requests-reset': 'never' }
  const at = new Date(now + 7_000).toISOString()
  const tokens = { 'anthropic-ratelimit-input-tokens-remaining': '0', 'anthropic-ratelimit-input-tokens-reset': at }
  assert.equal(after({ ...anthropic, ...tokens }), 7_000)
  assert.equal(after({ 'anthropic-ratelimit-unified-reset': String(now / 1_000 + 18_000) }), 18_000_000)
  assert.equal(after({ 'x-ratelimit-reset': String(now - 5_000) }), undefined)
  assert.equal(after({ 'x-ratelimit-reset': 'soon' }), undefined)
  assert.equal(after(openai), undefined)
})

test('the reset of a limit is read from the body where a vendor sends it there', () => {
  const now = 1_700_000_000_000
  const after = (body: unknown) => parseResetMs(undefined, body, now)
  assert.equal(after({ error: { type: 'usage_limit_reached', resets_at: now / 1_000 + 600 } }), 600_000)
  assert.equal(after({ error: { resets_in_seconds: 45 } }), 45_000)
  assert.equal(after([{ error: { code: 429, details: [{ '@type': 'RetryInfo', retryDelay: '34.5s' }] } }]), 34_500)
  const openrouter = { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(now + 2_000) }
  assert.equal(after({ error: { code: 429, metadata: { headers: openrouter } } }), 2_000)
  for (const body of ['text', null, {}, [], { error: { details: 7, metadata: 'x', resets_at: {} } }])
    assert.equal(after(body), undefined)
})

test('a network error names the host and the code, has no cause and is retryable', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:443 top-secret-value'), {
    code: 'ECONNREFUSED',
  })
  const error = mapProviderError(new Error('Connection error.', { cause: refused }), context)
  assert.equal(error.kind, 'network')
  assert.equal(error.retryable, true)
  assert.match(error.message, /api\.example\.com.*ECONNREFUSED/)
  assert.doesNotMatch(error.message, /top-secret-value/)
  assert.equal(error.cause, undefined)
})

test('a refused connection is local when the address belongs to this machine', () => {
  const isLocal = (host: string, code: string) =>
    mapProviderError(Object.assign(new Error(code), { code }), { ...context, host }).isLocalRefusal
  for (const host of ['127.0.0.1:11434', 'localhost:11434', '[::1]:80', 'localhost']) {
    assert.equal(isLocal(host, 'ECONNREFUSED'), true, host)
  }
  for (const host of ['10.0.0.1:80', 'localhost.example.com', 'api.example.com']) {
    assert.equal(isLocal(host, 'ECONNREFUSED'), false, host)
  }
  assert.equal(isLocal('localhost:11434', 'ECONNRESET'), false)
})

test('a header that cannot be sent is an error of the request, not of the network', () => {
  const thrown = new TypeError('Headers.append: "a\nb" is an invalid header value.')
  assert.equal(mapProviderError(new Error('Connection error.', { cause: thrown }), context).kind, 'invalid-request')
})

test('a long or empty error message becomes one readable line', () => {
  assert.ok(
    failureToModelError({ status: 400, type: '', code: '', message: 'x'.repeat(9000) }, context).message.length < 600,
  )
  const empty = failureToModelError({ status: 418, type: '', code: '', message: '' }, context)
  assert.equal(empty.status, 418)
  assert.match(empty.message, /^api\.example\.com .*418\b.*[^\s:]$/)
})

test('a ModelError is returned unchanged', () => {
  const error = new ModelError('context', 'full')
  assert.equal(mapProviderError(error, context), error)
})
