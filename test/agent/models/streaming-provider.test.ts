/** The idle timeout and the connection of a streamed call. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { after, before, describe, it, mock } from 'node:test'
import { httpFetch } from '../../../src/agent/models/http-fetch.ts'
import { createOpenAiChatProvider } from '../../../src/agent/models/openai/openai-providers.ts'
import { createProviderOptions } from '../../../src/agent/models/provider-options.ts'
import { startIdleTimeout } from '../../../src/agent/models/streaming-provider.ts'
import { contractInput, matchesProviderError, runCall } from '../../kit/contracts/provider-run.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import type { ModelServer } from '../../kit/servers/sse.ts'

describe('the idle timeout', () => {
  it('counts only the time in which the vendor sends nothing, not the time of the consumer', () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      let time = 0
      const pass = (ms: number) => {
        time += ms
        mock.timers.tick(ms)
      }
      const timeout = startIdleTimeout(new AbortController().signal, 1000, () => time)
      timeout.pause()
      pass(5000)
      assert.equal(timeout.timedOut, false)
      timeout.restart()
      pass(600)
      timeout.restart()
      pass(999)
      assert.equal(timeout.timedOut, false)
      pass(1)
      assert.equal(timeout.timedOut, true)
      assert.equal(timeout.signal.aborted, true)
      timeout.stop()
    } finally {
      mock.timers.reset()
    }
  })

  it('forwards the reason of the turn and removes its listener', () => {
    const turn = new AbortController()
    const [first, second] = [startIdleTimeout(turn.signal, 1000), startIdleTimeout(turn.signal, 1000)]
    first.stop()
    turn.abort(new Error('stopped'))
    assert.equal(first.signal.aborted, false)
    assert.equal(second.signal.reason, turn.signal.reason)
    assert.equal(second.timedOut, false)
    second.stop()
  })
})

describe('a call over a real connection', () => {
  let server: ModelServer
  before(async () => {
    server = await startOpenAiServer()
  })
  after(() => server.stop())

  const build = (baseUrl: string, apiKey = '') => createOpenAiChatProvider(createProviderOptions({ apiKey, baseUrl }))

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
