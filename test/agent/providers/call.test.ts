/** Silence, connections and what else a call needs around the stream. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, describe, it, mock } from 'node:test'
import { watchCall } from '../../../src/agent/providers/call-watch.ts'
import { httpFetch } from '../../../src/agent/providers/http-fetch.ts'
import { createOpenAiChat } from '../../../src/agent/providers/openai-chat.ts'
import { providerOptions } from '../../../src/agent/providers/options.ts'
import { contractInput, isProblem, runCall } from '../../kit/contracts/provider-run.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import type { ModelServer } from '../../kit/servers/sse.ts'

describe('the watch over a call', () => {
  it('counts only the silence of the vendor, not the time its reader takes', () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      let time = 0
      const pass = (ms: number) => {
        time += ms
        mock.timers.tick(ms)
      }
      const watch = watchCall(new AbortController().signal, 1000, () => time)
      watch.heard()
      pass(5000)
      assert.equal(watch.timedOut, false)
      watch.waiting()
      pass(600)
      watch.waiting()
      pass(999)
      assert.equal(watch.timedOut, false)
      pass(1)
      assert.equal(watch.timedOut, true)
      assert.equal(watch.signal.aborted, true)
      watch.end(false)
    } finally {
      mock.timers.reset()
    }
  })

  it('passes the reason of the turn on and leaves no listener behind', () => {
    const turn = new AbortController()
    const [first, second] = [watchCall(turn.signal, 1000), watchCall(turn.signal, 1000)]
    first.end(false)
    turn.abort(new Error('stopped'))
    assert.equal(first.signal.aborted, false)
    assert.equal(second.signal.reason, turn.signal.reason)
    assert.equal(second.timedOut, false)
    second.end(true)
  })
})

describe('a call over a real connection', () => {
  let server: ModelServer
  before(async () => {
    server = await startOpenAiServer()
  })
  after(() => server.stop())

  const build = (baseUrl: string, apiKey = '') => createOpenAiChat(providerOptions({ apiKey, baseUrl }))

  it('sends no key where there is none', async () => {
    const provider = build(server.baseUrl)
    await runCall(provider, provider.buildRequest(contractInput))
    assert.equal(server.requests.at(-1)?.headers.authorization, undefined)
  })

  it('uses one connection for calls that follow one another', async () => {
    const ports = new Set<number | undefined>()
    const plain = createServer((request, response) => {
      ports.add(request.socket.remotePort)
      request.resume()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    })
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    const address = plain.address()
    assert.ok(typeof address === 'object' && address !== null)
    const provider = build(`http://127.0.0.1:${address.port}`)
    for (let count = 0; count < 4; count += 1) await runCall(provider, provider.buildRequest(contractInput))
    assert.equal(ports.size, 1)
    plain.closeAllConnections()
    await new Promise((resolve) => plain.close(resolve))
  })

  it('does not wait for a server that forgets to end a finished stream', async () => {
    const provider = build(server.baseUrl)
    server.enqueue({ text: 'ok', hang: 'stream' })
    const { answer } = await runCall(provider, provider.buildRequest(contractInput))
    assert.equal(answer.text, 'ok')
    assert.equal(await server.requests.at(-1)?.closed, true)
  })

  it('reports a server that is not there', async () => {
    const gone = await startOpenAiServer()
    await gone.stop()
    const provider = build(gone.baseUrl)
    await assert.rejects(
      runCall(provider, provider.buildRequest(contractInput)),
      isProblem('network', undefined, /127\.0\.0\.1:\d+ failed.*ECONNREFUSED/),
    )
  })

  it('reports a key with a character that no header may hold without showing it', async () => {
    const provider = build(server.baseUrl, 'secret\u20ac')
    await assert.rejects(runCall(provider, provider.buildRequest(contractInput)), (error) => {
      isProblem('invalid-request')(error)
      assert.doesNotMatch(String(error), /secret/)
      return true
    })
  })

  it('reads an error of any length only at its beginning', async () => {
    const provider = build(server.baseUrl)
    server.enqueue({ error: { status: 500, body: 'x'.repeat(5_000_000) } })
    await assert.rejects(runCall(provider, provider.buildRequest(contractInput)), isProblem('overloaded', 500))
  })

  it('carries a long answer through unchanged, whatever its reader takes', async () => {
    const text = 'Überall 😀 '.repeat(4000)
    const provider = build(server.baseUrl)
    server.enqueue({ text })
    assert.equal((await runCall(provider, provider.buildRequest(contractInput))).answer.text, text)
  })

  it('fetches answers without a body', async () => {
    const empty = createServer((_request, response) => response.writeHead(204).end())
    await new Promise<void>((resolve) => empty.listen(0, '127.0.0.1', resolve))
    const address = empty.address()
    assert.ok(typeof address === 'object' && address !== null)
    const response = await httpFetch(`http://127.0.0.1:${address.port}/`)
    assert.equal(response.body, null)
    empty.closeAllConnections()
    await new Promise((resolve) => empty.close(resolve))
  })
})
