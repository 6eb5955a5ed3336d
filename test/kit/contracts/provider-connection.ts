/**
 * Promises of a provider about its connection: the request, the response, and when the connection is closed.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ModelRequest } from '../../../src/agent/support/model-request.ts'
import {
  CONTRACT_KEY,
  contractInput,
  lastRequest,
  matchesProviderError,
  type ProviderTest,
  runCall,
} from './provider-run.ts'

export function connectionRequirements({ build, server: serverOf }: ProviderTest): void {
  it('closes the connection when the turn is stopped while the model is silent', async () => {
    serverOf().enqueue({ text: 'one two', hang: 'stream', hangAfter: 4 })
    const stop = new AbortController()
    const provider = build()
    const running = runCall(provider, provider.buildRequest(contractInput), stop.signal)
    const request = await serverOf().request(serverOf().requestCount)
    stop.abort(new Error('stopped'))
    await assert.rejects(running, /stopped/)
    assert.equal(await request.closed, true)
  })

  it('closes the connection when the consumer leaves the stream', async () => {
    serverOf().enqueue({ text: 'one two', hang: 'stream', hangAfter: 4 })
    const provider = build()
    for await (const _chunk of provider.stream(provider.buildRequest(contractInput), new AbortController().signal))
      break
    assert.equal(await lastRequest(serverOf()).closed, true)
  })

  it('passes unknown fields through in both directions', async () => {
    serverOf().enqueue({ text: 'ok', extra: { x_router: { region: 'north' } } })
    const provider = build()
    const run = await runCall(provider, { ...provider.buildRequest(contractInput), x_unknown: { deep: [1] } })
    assert.deepEqual(lastRequest(serverOf()).body['x_unknown'], { deep: [1] })
    assert.deepEqual(run.response['x_router'], { region: 'north' })
  })

  it('merges extra_body, extra_headers and extra_query into the request', async () => {
    const provider = build()
    await runCall(provider, {
      ...provider.buildRequest(contractInput),
      extra_body: { metadata: { hermes_middleware_demo: true }, model: 'other-model', stream: false },
      extra_headers: { 'X-Trace': 'abc' },
      extra_query: { version: '2' },
      timeout: 30,
    })
    const { body, headers, query } = lastRequest(serverOf())
    assert.deepEqual(body['metadata'], { hermes_middleware_demo: true })
    assert.equal(body['model'], 'other-model')
    assert.equal(body['stream'], true, 'always streamed')
    assert.equal(headers['x-trace'], 'abc')
    assert.deepEqual(query, { version: '2' })
    for (const key of ['extra_body', 'extra_headers', 'extra_query', 'timeout']) assert.ok(!(key in body), key)
  })

  it('names an invalid transport key of a request', async () => {
    const provider = build()
    const request = provider.buildRequest(contractInput)
    for (const [key, value] of Object.entries({
      extra_body: 'text',
      extra_headers: ['a'],
      extra_query: { a: {} },
      timeout: -1,
    })) {
      // Middleware in another language is not bound to the types.
      const wrong: ModelRequest = JSON.parse(JSON.stringify({ ...request, [key]: value }))
      await assert.rejects(
        runCall(provider, wrong),
        matchesProviderError('invalid-request', undefined, new RegExp(key)),
      )
    }
  })

  it('names the transport key to use instead of a misnamed one', async () => {
    const provider = build()
    for (const [key, instead] of [
      ['headers', 'extra_headers'],
      ['query', 'extra_query'],
    ] as const) {
      const request = { ...provider.buildRequest(contractInput), [key]: { 'x-trace': 'abc' } }
      await assert.rejects(
        runCall(provider, request),
        matchesProviderError('invalid-request', undefined, new RegExp(`\\b${instead}\\b`)),
      )
    }
  })

  it('sends the API key and exactly the request that was built', async () => {
    const provider = build()
    const request = provider.buildRequest(contractInput)
    await runCall(provider, request)
    assert.deepEqual(lastRequest(serverOf()).body, JSON.parse(JSON.stringify(request)))
    assert.equal(lastRequest(serverOf()).headers.authorization, `Bearer ${CONTRACT_KEY}`)
  })
}
