/** The connection of a streamed call. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { after, before, describe, it } from 'node:test'
import type { ProviderMonitor } from '../../../src/agent/models/model-call-monitor.ts'
import { createOpenAiChatProvider } from '../../../src/agent/models/openai/openai-providers.ts'
import { ModelError } from '../../../src/agent/models/provider.ts'
import { createProviderOptions, type StreamLimits } from '../../../src/agent/models/provider-options.ts'
import { httpFetch } from '../../../src/agent/models/transport.ts'
import { contractInput, matchesProviderError, runCall } from '../../kit/contracts/provider-run.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import type { ModelServer } from '../../kit/servers/sse.ts'

describe('a call over a real connection', () => {
  let server: ModelServer
  before(async () => {
    server = await startOpenAiServer()
  })
  after(() => server.stop())

  const build = (baseUrl: string, apiKey = '', limits: Partial<StreamLimits> = {}) =>
    createOpenAiChatProvider(createProviderOptions({ name: 'openai', apiKey, baseUrl, ...limits }))

  const chat = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`
  const withoutOutput = {
    'comments of the stream': ': keep-alive\n\n',
    'empty deltas': chat({ role: 'assistant', content: '' }),
    'endless white space': chat({ content: '   \n' }),
    'white space as the arguments of a tool': chat({ tool_calls: [{ index: 0, function: { arguments: '\n' } }] }),
  }
  for (const [what, frame] of Object.entries(withoutOutput)) {
    it(`${what} do not keep a call alive that has no output`, async () => {
      const plain = await repeating(frame)
      const provider = build(plain.url, '', { idleTimeoutMs: 200 })
      await assert.rejects(runCall(provider, provider.buildRequest(contractInput)), matchesProviderError('timeout'))
      await plain.stop()
    })
  }

  const withOutput = {
    reasoning: chat({ reasoning_content: 'hm' }),
    'the arguments of a tool': chat({ tool_calls: [{ index: 0, function: { name: 'terminal', arguments: '{' } }] }),
  }
  for (const [what, frame] of Object.entries(withOutput)) {
    it(`${what} counts as output; the total limit ends the call, however much the model sends`, async () => {
      const plain = await repeating(frame)
      const provider = build(plain.url, '', { idleTimeoutMs: 300, totalTimeoutMs: 1_000 })
      await assert.rejects(runCall(provider, provider.buildRequest(contractInput)), (error) => {
        matchesProviderError('timeout', undefined, /agent\.model_call_timeout/)(error)
        return error instanceof ModelError && error.maxTries === 2
      })
      await plain.stop()
    })
  }

  it('a call is monitored until it ends', async () => {
    const open = new Set<() => number>()
    const ends: string[] = []
    const monitor: ProviderMonitor = {
      calls: open,
      observers: new Set([
        ({ provider, model, result, response, ms }) => {
          assert.ok(ms >= 0)
          ends.push(`${provider} ${model} ${result} ${response !== undefined}`)
        },
      ]),
    }
    const provider = createOpenAiChatProvider(
      createProviderOptions({ name: 'openai', apiKey: '', baseUrl: server.baseUrl, monitor }),
    )
    const during: number[] = []
    await runCall(provider, provider.buildRequest(contractInput), undefined, () => {
      during.push(open.size)
    })
    assert.ok(during.length > 0 && during.every((count) => count === 1))
    assert.equal(open.size, 0)
    server.enqueue({ error: { status: 503 } })
    await assert.rejects(runCall(provider, provider.buildRequest(contractInput)))
    assert.equal(open.size, 0)
    const { model } = contractInput
    assert.deepEqual(ends, [`openai ${model} ok true`, `openai ${model} overloaded false`])
  })

  it('sends no key when none is configured', async () => {
    const provider = build(server.baseUrl)
    await runCall(provider, provider.buildRequest(contractInput))
    assert.equal(server.requests.at(-1)?.headers.authorization, undefined)
  })

  it('reads the end of a complete stream and reuses the connection', async () => {
    const ports = new Set<number | undefined>()
    const answers: ServerResponse[] = []
    const plain = await listen((request, response) => {
      ports.add(request.socket.remotePort)
      answers.push(response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    })
    const provider = build(plain.url)
    for (let count = 0; count < 4; count += 1) {
      // The server ends its stream only after the last chunk was consumed.
      const end = () => setImmediate(() => answers.at(-1)?.end())
      await runCall(provider, provider.buildRequest(contractInput), undefined, end)
    }
    assert.equal(ports.size, 1)
    await plain.stop()
  })

  it('throws when the turn is aborted between the last chunk and the end of the stream', async () => {
    const provider = build(server.baseUrl)
    server.enqueue({ text: 'ok', hang: 'stream' })
    const stop = new AbortController()
    const running = runCall(provider, provider.buildRequest(contractInput), stop.signal, (chunk) => {
      if (chunk['usage'] !== undefined) setImmediate(() => stop.abort(new Error('stopped late')))
    })
    await assert.rejects(running, (error) => error === stop.signal.reason)
  })

  it('does not wait for a server that leaves a complete stream open', async () => {
    const provider = build(server.baseUrl)
    server.enqueue({ text: 'ok', hang: 'stream' })
    const { output } = await runCall(provider, provider.buildRequest(contractInput))
    assert.equal(output.text, 'ok')
    assert.equal(await server.requests.at(-1)?.closed, true)
  })

  it('reports a server that does not listen', async () => {
    const gone = await startOpenAiServer()
    await gone.stop()
    const provider = build(gone.baseUrl)
    await assert.rejects(
      runCall(provider, provider.buildRequest(contractInput)),
      matchesProviderError('network', undefined, /127\.0\.0\.1:\d+ failed.*ECONNREFUSED/),
    )
  })

  it('reports a key with an invalid header character without showing the key', async () => {
    const provider = build(server.baseUrl, 'secret\u20ac')
    await assert.rejects(runCall(provider, provider.buildRequest(contractInput)), (error) => {
      matchesProviderError('invalid-request')(error)
      assert.doesNotMatch(String(error), /secret/)
      return true
    })
  })

  it('reads only the beginning of an error response, even of an endless one', async () => {
    const closed = Promise.withResolvers<void>()
    const plain = await listen((_request, response) => {
      response.once('close', () => closed.resolve())
      response.writeHead(500)
      const more = () => {
        if (!response.destroyed) response.write('x'.repeat(10_000), () => setImmediate(more))
      }
      more()
    })
    const provider = build(plain.url)
    await assert.rejects(
      runCall(provider, provider.buildRequest(contractInput)),
      matchesProviderError('overloaded', 500),
    )
    await closed.promise
    await plain.stop()
  })

  it('reports the target of a redirect instead of sending the key there', async () => {
    const provider = build(server.baseUrl, 'k')
    server.enqueue({ raw: { status: 308, headers: { location: 'https://elsewhere.example/v1' }, body: '' } })
    await assert.rejects(
      runCall(provider, provider.buildRequest(contractInput)),
      matchesProviderError('invalid-request', 308, /elsewhere\.example.*base_url/),
    )
  })

  it('returns a long response unchanged', async () => {
    const text = 'Überall 😀 '.repeat(4000)
    const provider = build(server.baseUrl)
    server.enqueue({ text })
    assert.equal((await runCall(provider, provider.buildRequest(contractInput))).output.text, text)
  })

  it('fetches responses without a body', async () => {
    const plain = await listen((_request, response) => response.writeHead(204).end())
    assert.equal((await httpFetch(plain.url)).body, null)
    await plain.stop()
  })
})

async function listen(answer: RequestListener): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume()
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${address.port}`, stop }
}

/** A server that sends the same frame every 20 ms and never ends its stream. */
function repeating(frame: string): ReturnType<typeof listen> {
  return listen((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const timer = setInterval(() => response.write(frame), 20)
    response.once('close', () => clearInterval(timer))
  })
}
