import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError, type ModelErrorKind, type Provider } from '../../../src/agent/models/provider.ts'
import { type RequestModelDeps, requestModel } from '../../../src/agent/models/request-model.ts'
import { type ScriptStep, scriptedProvider } from '../../kit/scripted-provider.ts'
import { agentDeps, question, turnInfo } from '../run-test-agent.ts'

const yes: ScriptStep = { chunks: ['y', 'es'] }

interface Options extends Partial<RequestModelDeps> {
  readonly wrapped?: Provider
  readonly maxRetries?: () => number
}

function modelCall(script: readonly ScriptStep[], options: Options = {}, stop = new AbortController()) {
  const { wrapped, maxRetries = () => 4, ...overrides } = options
  const provider = scriptedProvider(script)
  const texts: string[] = []
  const { pauses, ...deps } = agentDeps()
  const input = { model: 'm', system: '', messages: [question], tools: [] }
  const result = requestModel(
    { ...deps, ...overrides },
    {
      provider: wrapped ?? provider,
      turn: turnInfo,
      iteration: 1,
      previousCalls: 0,
      input,
      signal: stop.signal,
      maxRetries,
      onText: (text) => texts.push(text),
    },
  )
  return { output: result.then(({ output }) => output), provider, pauses, texts, stop }
}

test('the text is shown while it is streamed', async () => {
  const { output, texts } = modelCall([yes])
  assert.equal((await output).text, 'yes')
  assert.deepEqual(texts, ['y', 'yes'])
})

for (const kind of ['rate-limit', 'overloaded', 'network', 'timeout'] satisfies ModelErrorKind[]) {
  test(`${kind}: the call is retried with increasing delays`, async () => {
    const failure = new ModelError(kind, 'not now')
    const { output, pauses, provider } = modelCall([failure, failure, failure, yes])
    assert.equal((await output).text, 'yes')
    assert.deepEqual(pauses, [1_000, 2_000, 4_000])
    assert.equal(provider.calls(), 4)
  })
}

for (const kind of ['auth', 'billing', 'context', 'invalid-request', 'bad-response'] satisfies ModelErrorKind[]) {
  test(`${kind}: the call is not retried, because a retry cannot succeed`, async () => {
    const failure = new ModelError(kind, 'no')
    const { output, pauses, provider } = modelCall([failure, yes])
    await assert.rejects(output, (error) => error === failure)
    assert.deepEqual(pauses, [])
    assert.equal(provider.calls(), 1)
  })
}

test('the delay that a vendor requests is respected', async () => {
  const failure = new ModelError('rate-limit', 'later', { retryAfterMs: 17_000 })
  const { output, pauses } = modelCall([failure, yes])
  await output
  assert.deepEqual(pauses, [17_000])
})

test('the call fails when the vendor requests a delay of many minutes', async () => {
  const failure = new ModelError('rate-limit', 'in an hour', { retryAfterMs: 3_600_000 })
  const { output, pauses } = modelCall([failure, yes])
  await assert.rejects(output, (error) => error === failure)
  assert.deepEqual(pauses, [])
})

test('after the last retry the call rejects with the last error', async () => {
  const failures = [1, 2, 3].map((number) => new ModelError('overloaded', `failure ${number}`))
  const { output, provider } = modelCall(failures, { maxRetries: () => 2 })
  await assert.rejects(output, (error) => error === failures[2])
  assert.equal(provider.calls(), 3)
  const once = modelCall(failures, { maxRetries: () => 0 })
  await assert.rejects(once.output, (error) => error === failures[0])
})

test('an unexpected error is not retried', async () => {
  const failure = new TypeError('a defect')
  const { output, provider } = modelCall([failure, yes])
  await assert.rejects(output, (error) => error === failure)
  assert.equal(provider.calls(), 1)
})

test('the text of a failed call is cleared before the retry', async () => {
  const provider = scriptedProvider([{ chunks: ['half an ans'], hang: true }, yes])
  let attempt = 0
  const { output, texts } = modelCall([], {
    wrapped: {
      ...provider,
      async *stream(request, signal) {
        attempt += 1
        if (attempt > 1) return yield* provider.stream(request, signal)
        const chunks = provider.stream(request, signal)
        const first = await chunks.next()
        if (first.done !== true) yield first.value
        throw new ModelError('network', 'connection lost')
      },
    },
  })
  assert.equal((await output).text, 'yes')
  assert.deepEqual(texts, ['half an ans', '', 'y', 'yes'])
})

test('an abort during the stream rejects with the reason of the abort', async () => {
  const { output, provider, stop, texts } = modelCall([{ chunks: ['half'], hang: true }])
  await provider.hanging
  const reason = new Error('stop')
  stop.abort(reason)
  await assert.rejects(output, (error) => error === reason)
  assert.deepEqual(texts, ['half'])
})

test('the reason of an abort takes precedence over the error of the stream', async () => {
  const stop = new AbortController()
  const reason = new Error('stop')
  const provider = scriptedProvider([])
  const wrapped: Provider = {
    ...provider,
    // biome-ignore lint/correctness/useYield: the stream breaks before its first chunk.
    async *stream() {
      stop.abort(reason)
      throw new ModelError('network', 'connection lost')
    },
  }
  await assert.rejects(modelCall([yes], { wrapped }, stop).output, (error) => error === reason)
})

test('an abort during the delay before a retry prevents the retry', async () => {
  const stop = new AbortController()
  const reason = new Error('stop')
  const sleep = async () => stop.abort(reason)
  const { output, provider } = modelCall([new ModelError('overloaded', 'no'), yes], { sleep }, stop)
  await assert.rejects(output, (error) => error === reason)
  assert.equal(provider.calls(), 1)
})

test('an aborted turn makes no model call', async () => {
  const stop = new AbortController()
  stop.abort(new Error('stop'))
  const { output, provider } = modelCall([yes], {}, stop)
  await assert.rejects(output, (error) => error === stop.signal.reason)
  assert.equal(provider.calls(), 0)
})
