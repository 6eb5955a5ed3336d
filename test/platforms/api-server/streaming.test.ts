/**
 * Streamed completions through the official client, and what goes over the wire for it.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import OpenAI from 'openai'
import { createCompletionStream } from '../../../platforms/api_server/completion-stream.ts'
import { ApiError } from '../../../platforms/api_server/errors.ts'
import { startTestApi } from './support.ts'

const hello = { model: 'any-model', messages: [{ role: 'user' as const, content: 'hello' }] }
const streamed = { ...hello, stream: true as const }

describe('a streamed completion', () => {
  it('starts with the role, continues with the text and ends with a finish reason', async (t) => {
    const api = await startTestApi(t)
    const asked = api.client.chat.completions.create(streamed)
    const turn = await api.next()
    const chunks = (await asked)[Symbol.asyncIterator]()
    const next = async () => (await chunks.next()).value?.choices[0]
    assert.deepEqual((await next())?.delta, { role: 'assistant', content: '' })
    await turn.draft('Hel')
    assert.deepEqual((await next())?.delta, { content: 'Hel' })
    await turn.draft('Hello wo')
    assert.deepEqual((await next())?.delta, { content: 'lo wo' })
    turn.end({ text: 'Hello world' })
    assert.deepEqual((await next())?.delta, { content: 'rld' })
    const last = await next()
    assert.deepEqual(last?.delta, {})
    assert.equal(last?.finish_reason, 'stop')
    assert.equal((await chunks.next()).done, true)
  })

  it('has the exact format of OpenAI, including [DONE]', async (t) => {
    const api = await startTestApi(t)
    const asked = api.post({ ...streamed, stream_options: { include_usage: true } })
    const turn = await api.next()
    const response = await asked
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(response.headers.get('x-hermes-session-id'), turn.event.source.chatId)
    turn.end({ text: 'Hi' })
    const common = '"id":"chatcmpl-1","object":"chat.completion.chunk","created":1800000000,"model":"any-model"'
    const choice = (delta: string, reason = 'null') =>
      `data: {${common},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}],"usage":null}\n\n`
    assert.equal(
      await response.text(),
      choice('{"role":"assistant","content":""}') +
        choice('{"content":"Hi"}') +
        choice('{}', '"stop"') +
        `data: {${common},"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}\n\n` +
        'data: [DONE]\n\n',
    )
  })

  it('reports running tools in a form that other clients ignore', async (t) => {
    const api = await startTestApi(t)
    const stream = api.client.chat.completions.stream(hello)
    const turn = await api.next()
    const { target, turnId } = turn
    const call = { turnId, callId: 'c1', tool: 'terminal' }
    api.adapter.activity?.(target, { kind: 'turn-started', turnId })
    await turn.draft('Looking.')
    api.adapter.activity?.(target, { kind: 'tool-started', ...call, label: 'ls' })
    api.adapter.activity?.(target, { kind: 'tool-ended', ...call, ok: true, summary: '3 files' })
    await turn.draft('Looking.\n\nThree files.')
    turn.end({ text: 'Looking.\n\nThree files.' })
    assert.equal(await stream.finalContent(), 'Looking.\n\nThree files.')
  })

  it('reports the tools in separate events', async (t) => {
    const api = await startTestApi(t)
    const asked = api.post(streamed)
    const { target, turnId, end } = await api.next()
    const response = await asked
    const call = { turnId, callId: 'c1', tool: 'terminal' }
    api.adapter.activity?.(target, { kind: 'turn-started', turnId })
    api.adapter.activity?.(target, { kind: 'tool-started', ...call, label: 'ls' })
    api.adapter.activity?.(target, { kind: 'tool-ended', ...call, ok: false, summary: 'exit code 2' })
    api.adapter.activity?.(target, { kind: 'turn-ended', turnId, status: 'done' })
    end()
    const events = [...(await response.text()).matchAll(/event: hermes\.tool\.progress\ndata: (.*)\n/g)]
    const progress = events.map(([, data = '']) => {
      const { tool, emoji, label, toolCallId, status, choices } = JSON.parse(data)
      assert.deepEqual(choices[0].delta, {})
      assert.ok(emoji)
      return { tool, label, toolCallId, status }
    })
    assert.deepEqual(progress, [
      { tool: 'terminal', label: 'ls', toolCallId: 'c1', status: 'running' },
      { tool: 'terminal', label: 'exit code 2', toolCallId: 'c1', status: 'failed' },
    ])
  })

  it('of two clients in one session returns to each the reply to its own message', async (t) => {
    const api = await startTestApi(t)
    const headers = { 'x-hermes-session-id': 'shared' }
    const first = await api.post(streamed, { headers })
    const second = await api.post(streamed, { headers })
    const [one, two] = [await api.next(), await api.next()]
    // The later message begins first, and its turn is told apart by the message it answers.
    api.adapter.activity?.(two.target, { kind: 'turn-started', turnId: two.turnId })
    await two.draft('second')
    await one.draft('first')
    one.end({ text: 'first answer' })
    two.end({ text: 'second answer' })
    const texts = [await first.text(), await second.text()].map((sse) =>
      [...sse.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join(''),
    )
    assert.deepEqual(texts, ['first answer', 'second answer'])
  })

  it('that fails ends with an error event and without [DONE]', async (t) => {
    const api = await startTestApi(t)
    const asked = api.client.chat.completions.create(streamed)
    const turn = await api.next()
    const stream = await asked
    await turn.draft('Half')
    turn.end({ status: 'failed', text: 'The model said no.', errorCode: 'provider/auth' })
    let text = ''
    await assert.rejects(
      async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      },
      (error) => {
        assert.ok(error instanceof OpenAI.APIError)
        assert.equal(error.type, 'agent_incomplete')
        assert.equal(error.code, 'provider/auth')
        assert.match(error.message, /said no/)
        return true
      },
    )
    assert.equal(text, 'Half')
  })

  it('ends with an error when the gateway stops', async (t) => {
    const api = await startTestApi(t)
    const response = await api.post(streamed)
    await api.next()
    await api.adapter.disconnect()
    const text = await response.text()
    assert.match(text, /event: error\ndata: \{"error":\{[^\n]*"code":"http\/starting"/)
    assert.doesNotMatch(text, /DONE/)
    assert.deepEqual(api.stops, [])
  })

  it('stops its turn when the client disconnects, unless it named a session', async (t) => {
    const api = await startTestApi(t)
    const named = new AbortController()
    const namedResponse = await api.post(streamed, { signal: named.signal, headers: { 'x-hermes-session-id': 's' } })
    await api.next()
    named.abort()
    await assert.rejects(namedResponse.text())
    const stream = await api.client.chat.completions.create(streamed)
    const { seq } = await api.next()
    stream.controller.abort()
    assert.equal(await api.nextStop(), seq)
    assert.deepEqual(api.stops, [seq])
  })
})

describe('the stream itself', () => {
  const completion = { id: 'chatcmpl-1', created: 1, model: 'm' }

  it('buffers only the newest text for a slow client, and loses nothing', async () => {
    const stream = createCompletionStream({ completion, includeUsage: false, keepAliveMs: 1_000_000 })
    let text = ''
    for (let i = 0; i < 10_000; i++) {
      text += `word ${i} `
      stream.setText(text)
      stream.sendToolProgress({ tool: 't', label: 'l', toolCallId: 'c', status: 'running' })
    }
    const usage = { inputTokens: 1, outputTokens: 1 }
    stream.finish({ status: 'done', text, sessionId: 's', model: 'm', usage })
    const sse = await new Response(stream.body).text()
    const events = sse.split('\n\n').filter((event) => event !== '')
    assert.ok(events.length < 30, `${events.length} events`)
    const contents = [...sse.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, content]) => content)
    assert.equal(contents.join(''), text.trim())
  })

  it('sends keep-alive comments', async () => {
    const stream = createCompletionStream({ completion, includeUsage: false, keepAliveMs: 1 })
    const reader = stream.body.getReader()
    const seen: string[] = []
    while (seen.length < 3) seen.push(Buffer.from((await reader.read()).value ?? []).toString())
    assert.match(seen[0] ?? '', /"role":"assistant"/)
    assert.deepEqual(seen.slice(1), [': keep-alive\n\n', ': keep-alive\n\n'])
    stream.fail(new ApiError(500, 'over'))
    await reader.cancel()
  })

  it('ignores data after its end', async () => {
    const stream = createCompletionStream({ completion, includeUsage: false, keepAliveMs: 1_000_000 })
    await stream.body.cancel()
    stream.setText('late')
    stream.sendToolProgress({ tool: 't', label: 'l', toolCallId: 'c', status: 'running' })
    stream.fail(new ApiError(500, 'late'))
    stream.finish({ status: 'done', text: '', sessionId: '', model: '', usage: { inputTokens: 0, outputTokens: 0 } })
  })
})
