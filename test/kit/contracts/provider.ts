/**
 * What every provider promises, run against the real adapters and local servers that speak the vendors' wire formats.
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
  /** Null for a provider that calls nobody; it is spared the promises about a connection. */
  startServer(): Promise<ModelServer | null>
  build(server: ModelServer | null, limits?: ProviderLimits): Provider
  /** A text in the body of the next request that shows that reasoning travelled back. */
  readonly reasoningMark?: string
}

export function providerContract(name: string, setup: ProviderSetup): void {
  describe(`provider contract: ${name}`, () => {
    let server: ModelServer | null = null
    // One for each promise: a call that is given up before it has reached the server leaves its reply to nobody.
    beforeEach(async () => {
      server = await setup.startServer()
    })
    afterEach(async () => {
      await server?.stop()
    })
    generalRequirements(() => setup.build(server))
    if (setup.reasoningMark !== undefined) {
      const bench: ProviderTest = {
        build: (limits) => setup.build(server, limits),
        server: () => {
          assert.ok(server !== null, 'this provider needs a server')
          return server
        },
      }
      responseRequirements(bench, setup.reasoningMark)
      connectionRequirements(bench)
      failureRequirements(bench)
    }
  })
}

function generalRequirements(build: () => Provider): void {
  it('shows the text in order and returns it whole', async () => {
    const provider = build()
    const run = await runCall(provider, provider.buildRequest(contractInput))
    assert.ok(run.deltas.length > 1, 'more than one piece')
    assert.equal(textOf(run.deltas), run.answer.text)
    assert.equal(run.answer.finishReason, 'stop')
    assert.ok(run.answer.usage.inputTokens > 0 && run.answer.usage.outputTokens > 0)
  })

  it('builds the same bytes from the same conversation', () => {
    const input: RequestInput = { ...contractInput, reasoningEffort: 'high', maxOutputTokens: 100 }
    const bytes = JSON.stringify(build().buildRequest(input))
    assert.equal(JSON.stringify(build().buildRequest(structuredClone(input))), bytes)
  })

  it('sends no list of tools when there are none', () => {
    assert.equal('tools' in build().buildRequest({ ...contractInput, tools: [] }), false)
  })

  it('throws when the turn is stopped in the middle, never half an answer', async () => {
    const provider = build()
    const stop = new AbortController()
    const reason = new Error('stopped by the user')
    let shown = 0
    const call = runCall(provider, provider.buildRequest(contractInput), stop.signal, () => {
      shown += 1
      stop.abort(reason)
    })
    await assert.rejects(call, reason)
    assert.equal(shown, 1, 'nothing more is shown after the stop')
  })

  it('throws at once when the turn was stopped before', async () => {
    const provider = build()
    const call = runCall(provider, provider.buildRequest(contractInput), AbortSignal.abort(new Error('too late')))
    await assert.rejects(call, /too late/)
  })

  it('refuses a response of another kind instead of reading nothing from it', () => {
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

  it('says that a plugin was at work when chunks that were changed are no answer any more', () => {
    assert.throws(() => collected(build(), []), matchesProviderError('bad-response', undefined, /^A plugin changed/))
    const numbers: Iterable<never> = JSON.parse('[1]')
    assert.throws(
      () => collected(build(), [...numbers]),
      matchesProviderError('bad-response', undefined, /not a JSON object/),
    )
  })
}

function responseRequirements({ build, server: serverOf }: ProviderTest, reasoningMark: string): void {
  it('hands on each piece as soon as it arrives', async () => {
    const shown = Promise.withResolvers<void>()
    // The server holds the end back until the beginning has been shown.
    serverOf().enqueue({ text: 'one two three', gate: (frame) => (frame < 6 ? Promise.resolve() : shown.promise) })
    const provider = build()
    const run = await runCall(provider, provider.buildRequest(contractInput), undefined, (chunk) => {
      if (provider.parseDelta(chunk)?.text === 'one') shown.resolve()
    })
    assert.equal(run.answer.text, 'one two three')
  })

  it('puts tool calls together from their pieces', async () => {
    serverOf().enqueue({
      text: 'I look.',
      toolCalls: [
        { id: 'a1', name: 'terminal', arguments: { command: 'ls -la' } },
        { id: 'b2', name: 'read_file', arguments: { path: 'ä ö.txt' } },
      ],
    })
    const { answer } = await callOnce(build())
    assert.deepEqual(answer.toolCalls, [
      { id: 'a1', name: 'terminal', arguments: '{"command":"ls -la"}' },
      { id: 'b2', name: 'read_file', arguments: '{"path":"ä ö.txt"}' },
    ])
    assert.equal(answer.finishReason, 'tool_calls')
    assert.equal(answer.text, 'I look.')
  })

  it('aggregates chunks once more, for plugins that change them, into the same response', async () => {
    serverOf().enqueue({
      text: 'I look.',
      toolCalls: [{ id: 'a1', name: 'terminal', arguments: { command: 'ls -la' } }],
      reasoning: 'first look',
    })
    const provider = build()
    const { chunks, response } = await callOnce(provider)
    assert.deepEqual(collected(provider, chunks), response)
  })

  it('keeps arguments that are not JSON, and can still send them back', async () => {
    serverOf().enqueue({ toolCalls: [{ id: 'a1', name: 'terminal', arguments: '{"command": ' }] })
    const provider = build()
    const { answer } = await callOnce(provider)
    assert.equal(answer.toolCalls[0]?.arguments, '{"command": ')
    const next = provider.buildRequest({
      ...contractInput,
      messages: [...contractInput.messages, { role: 'assistant', content: '', toolCalls: answer.toolCalls }],
    })
    assert.match(JSON.stringify(next), /malformed_arguments/)
  })

  it('brings reasoning back unchanged with the results of its tool calls', async () => {
    serverOf().enqueue({ reasoning: 'first look', toolCalls: [{ id: 'a1', name: 'terminal', arguments: {} }] })
    const provider = build()
    const { answer, deltas } = await callOnce(provider)
    assert.equal(textOf(deltas, 'reasoning'), 'first look')
    assert.ok(answer.providerItems !== undefined)
    const next = (apiMode: string) =>
      JSON.stringify(
        provider.buildRequest({
          ...contractInput,
          messages: [
            ...contractInput.messages,
            {
              role: 'assistant',
              content: answer.text,
              toolCalls: answer.toolCalls,
              providerData: { apiMode, items: structuredClone(answer.providerItems ?? []) },
            },
            { role: 'tool', toolCallId: 'a1', name: 'terminal', content: 'README.md' },
          ],
        }),
      )
    assert.ok(next(provider.apiMode).includes(reasoningMark))
    assert.ok(!next('another_api').includes(reasoningMark), 'never to another API')
  })

  it('counts tokens as the vendor counted them', async () => {
    serverOf().enqueue({ text: 'ok', usage: { input: 1200, output: 34, cached: 1000 } })
    const { answer } = await callOnce(build())
    assert.deepEqual(answer.usage, {
      inputTokens: 1200,
      outputTokens: 34,
      cachedInputTokens: 1000,
      cacheWriteTokens: 0,
    })
  })

  it('says when an answer was cut at its length limit', async () => {
    serverOf().enqueue({
      text: 'half a sen',
      finishReason: build().apiMode === 'anthropic_messages' ? 'max_tokens' : 'length',
    })
    assert.equal((await callOnce(build())).answer.finishReason, 'length')
  })
}
