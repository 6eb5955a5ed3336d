/**
 * The provider contract: promises of every provider, checked with the real adapters and local servers.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Provider, RequestInput } from '../../../src/agent/models/provider.ts'
import type { ModelServer } from '../servers/sse.ts'
import { connectionRequirements } from './provider-connection.ts'
import { failureRequirements } from './provider-failures.ts'
import {
  callOnce,
  collected,
  contractInput,
  matchesProviderError,
  type ProviderLimits,
  type ProviderTest,
  runCall,
  textOf,
} from './provider-run.ts'

export interface ProviderSetup {
  /** Resolves with null for a provider without a connection. Promises about the connection are then skipped. */
  startServer(): Promise<ModelServer | null>
  build(server: ModelServer | null, limits?: ProviderLimits): Provider
  /** Text in the body of the next request that proves that reasoning was sent back. */
  readonly reasoningMark?: string
}

export function providerContract(name: string, setup: ProviderSetup): void {
  describe(`provider contract: ${name}`, () => {
    let server: ModelServer | null = null
    // One server for each promise, because a call that is aborted early leaves its scripted reply in the queue.
    beforeEach(async () => {
      server = await setup.startServer()
    })
    afterEach(async () => {
      await server?.stop()
    })
    generalRequirements(() => setup.build(server))
    if (setup.reasoningMark !== undefined) {
      const context: ProviderTest = {
        build: (limits) => setup.build(server, limits),
        server: () => {
          assert.ok(server !== null, 'this provider needs a server')
          return server
        },
      }
      responseRequirements(context, setup.reasoningMark)
      connectionRequirements(context)
      failureRequirements(context)
    }
  })
}

function generalRequirements(build: () => Provider): void {
  it('streams the text in order and returns it complete', async () => {
    const provider = build()
    const run = await runCall(provider, provider.buildRequest(contractInput))
    assert.ok(run.deltas.length > 1, 'more than one chunk')
    assert.equal(textOf(run.deltas), run.output.text)
    assert.equal(run.output.finishReason, 'stop')
    assert.ok(run.output.usage.inputTokens > 0 && run.output.usage.outputTokens > 0)
  })

  it('builds the same bytes from the same conversation', () => {
    const input: RequestInput = { ...contractInput, reasoningEffort: 'high', maxOutputTokens: 100 }
    const bytes = JSON.stringify(build().buildRequest(input))
    assert.equal(JSON.stringify(build().buildRequest(structuredClone(input))), bytes)
  })

  it('omits the list of tools if there are none', () => {
    assert.equal('tools' in build().buildRequest({ ...contractInput, tools: [] }), false)
  })

  it('throws when the turn is stopped during the response', async () => {
    const provider = build()
    const stop = new AbortController()
    const reason = new Error('stopped by the user')
    let shown = 0
    const call = runCall(provider, provider.buildRequest(contractInput), stop.signal, () => {
      shown += 1
      stop.abort(reason)
    })
    await assert.rejects(call, reason)
    assert.equal(shown, 1, 'no chunk follows the stop')
  })

  it('throws at once if the signal is already aborted', async () => {
    const provider = build()
    const call = runCall(provider, provider.buildRequest(contractInput), AbortSignal.abort(new Error('too late')))
    await assert.rejects(call, /too late/)
  })

  it('rejects a response of another format', () => {
    for (const response of [
      {},
      { choices: [] },
      { output: 'text' },
      { content: 'text' },
      { choices: [{ message: 1 }] },
    ]) {
      assert.throws(() => build().parseResponse(response), matchesProviderError('bad-response'))
    }
  })

  it('names plugins as the cause if changed chunks do not form a response', () => {
    assert.throws(() => collected(build(), []), matchesProviderError('bad-response', undefined, /^A plugin changed/))
    const numbers: Iterable<never> = JSON.parse('[1]')
    assert.throws(
      () => collected(build(), [...numbers]),
      matchesProviderError('bad-response', undefined, /not a JSON object/),
    )
  })
}

function responseRequirements({ build, server: serverOf }: ProviderTest, reasoningMark: string): void {
  it('yields each chunk as soon as it arrives', async () => {
    const shown = Promise.withResolvers<void>()
    // The server sends the end after the beginning was yielded.
    serverOf().enqueue({ text: 'one two three', gate: (frame) => (frame < 6 ? Promise.resolve() : shown.promise) })
    const provider = build()
    const run = await runCall(provider, provider.buildRequest(contractInput), undefined, (chunk) => {
      if (provider.parseDelta(chunk)?.text === 'one') shown.resolve()
    })
    assert.equal(run.output.text, 'one two three')
  })

  it('assembles tool calls from their chunks', async () => {
    serverOf().enqueue({
      text: 'I look.',
      toolCalls: [
        { id: 'a1', name: 'terminal', arguments: { command: 'ls -la' } },
        { id: 'b2', name: 'read_file', arguments: { path: 'ä ö.txt' } },
      ],
    })
    const { output } = await callOnce(build())
    assert.deepEqual(output.toolCalls, [
      { id: 'a1', name: 'terminal', arguments: '{"command":"ls -la"}' },
      { id: 'b2', name: 'read_file', arguments: '{"path":"ä ö.txt"}' },
    ])
    assert.equal(output.finishReason, 'tool_calls')
    assert.equal(output.text, 'I look.')
  })

  it('aggregates the chunks again into the same response, for plugins that change them', async () => {
    serverOf().enqueue({
      text: 'I look.',
      toolCalls: [{ id: 'a1', name: 'terminal', arguments: { command: 'ls -la' } }],
      reasoning: 'first look',
    })
    const provider = build()
    const { chunks, response } = await callOnce(provider)
    assert.deepEqual(collected(provider, chunks), response)
  })

  it('keeps arguments that are not JSON and can send them back', async () => {
    serverOf().enqueue({ toolCalls: [{ id: 'a1', name: 'terminal', arguments: '{"command": ' }] })
    const provider = build()
    const { output } = await callOnce(provider)
    assert.equal(output.toolCalls[0]?.arguments, '{"command": ')
    const next = provider.buildRequest({
      ...contractInput,
      messages: [...contractInput.messages, { role: 'assistant', content: '', toolCalls: output.toolCalls }],
    })
    assert.match(JSON.stringify(next), /malformed_arguments/)
  })

  it('sends reasoning back unchanged with the results of its tool calls', async () => {
    serverOf().enqueue({ reasoning: 'first look', toolCalls: [{ id: 'a1', name: 'terminal', arguments: {} }] })
    const provider = build()
    const { output, deltas } = await callOnce(provider)
    assert.equal(textOf(deltas, 'reasoning'), 'first look')
    assert.ok(output.providerItems !== undefined)
    const next = (apiMode: string, origin: { readonly baseUrl?: string; readonly model?: string } = {}) =>
      JSON.stringify(
        provider.buildRequest({
          ...contractInput,
          messages: [
            ...contractInput.messages,
            {
              role: 'assistant',
              content: output.text,
              toolCalls: output.toolCalls,
              providerData: { apiMode, ...origin, items: structuredClone(output.providerItems ?? []) },
            },
            { role: 'tool', toolCallId: 'a1', name: 'terminal', content: 'README.md' },
          ],
        }),
      )
    assert.ok(next(provider.apiMode).includes(reasoningMark))
    const { apiMode, baseUrl } = provider
    assert.ok(next(apiMode, { baseUrl, model: contractInput.model }).includes(reasoningMark))
    assert.ok(!next('another_api').includes(reasoningMark), 'not sent to another API')
    assert.ok(!next(apiMode, { baseUrl: 'https://other.example/v1' }).includes(reasoningMark), 'nor to another server')
    assert.ok(!next(apiMode, { baseUrl, model: 'another' }).includes(reasoningMark), 'nor to another model')
  })

  it('reports the token counts of the vendor', async () => {
    serverOf().enqueue({ text: 'ok', usage: { input: 1200, output: 34, cached: 1000 } })
    const { output } = await callOnce(build())
    assert.deepEqual(output.usage, {
      inputTokens: 1200,
      outputTokens: 34,
      cachedInputTokens: 1000,
      cacheWriteTokens: 0,
    })
  })

  it('reports that a response was cut at its length limit', async () => {
    serverOf().enqueue({
      text: 'half a sen',
      finishReason: build().apiMode === 'anthropic_messages' ? 'max_tokens' : 'length',
    })
    assert.equal((await callOnce(build())).output.finishReason, 'length')
  })
}
