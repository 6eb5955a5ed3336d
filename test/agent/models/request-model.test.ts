import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError, type ModelErrorKind, ModelOutage, type Provider } from '../../../src/agent/models/provider.ts'
import { requestModel } from '../../../src/agent/models/request-model.ts'
import type { ModelCallDeps } from '../../../src/agent/models/run-model-call.ts'
import type { ChatMessage } from '../../../src/message/transcript.ts'
import { type ScriptStep, scriptedProvider, usagePerCall } from '../../kit/scripted-provider.ts'
import { agentDeps, question, turnInfo } from '../run-test-agent.ts'

const yes: ScriptStep = { chunks: ['y', 'es'] }

interface Options extends Partial<ModelCallDeps> {
  readonly messages?: readonly ChatMessage[]
  readonly wrapped?: Provider
  readonly maxRetries?: number
  readonly outageSince?: number
  readonly acceptsEmpty?: boolean
}

function modelCall(script: readonly ScriptStep[], options: Options = {}, stop = new AbortController()) {
  const { messages = [question], wrapped, maxRetries, outageSince = null, acceptsEmpty = false, ...overrides } = options
  const provider = scriptedProvider(script)
  const texts: string[] = []
  const trouble: string[] = []
  const { pauses, ...deps } = agentDeps()
  const input = { model: 'm', system: '', messages, tools: [] }
  const result = requestModel(
    { ...deps, ...overrides },
    {
      provider: wrapped ?? provider,
      turn: turnInfo,
      iteration: 1,
      previousCalls: 0,
      input,
      signal: stop.signal,
      retry: () => ({ windowMs: 120_000, maxRetries }),
      outageSince,
      acceptsEmpty,
      onTrouble: () => ({
        failed: (server, failure) => trouble.push(`${server} ${failure.kind}`),
        recovered: () => trouble.push('recovered'),
      }),
      onText: (text) => texts.push(text),
    },
  )
  return { result, output: result.then(({ output }) => output), provider, pauses, texts, trouble, stop }
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

for (const kind of ['auth', 'billing', 'context', 'invalid-request'] satisfies ModelErrorKind[]) {
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

test('a delay beyond the window is an outage at once', async () => {
  const failure = new ModelError('rate-limit', 'in an hour', { retryAfterMs: 3_600_000 })
  const { output, pauses } = modelCall([failure, yes])
  await assert.rejects(output, isOutage('rate-limit'))
  assert.deepEqual(pauses, [])
})

test('a failure that lasts longer than the window is an outage; its beginning is the first failure', async () => {
  const failures = Array.from({ length: 30 }, () => new ModelError('overloaded', 'later'))
  const { output, pauses, trouble } = modelCall(failures)
  await assert.rejects(output, (error) => {
    assert.ok(error instanceof ModelOutage)
    assert.equal(error.since, Date.UTC(2026, 0, 2, 3, 4, 5))
    assert.equal(error.server, '127.0.0.1')
    return true
  })
  assert.equal(
    pauses.reduce((sum, ms) => sum + ms, 0),
    120_000,
  )
  assert.deepEqual([trouble[0], trouble.at(-1)], ['127.0.0.1 overloaded', 'recovered'])
})

test('during an outage each attempt makes one call, and the beginning of the outage stays', async () => {
  const { output, provider } = modelCall([new ModelError('network', 'no')], { outageSince: 17 })
  await assert.rejects(output, (error) => error instanceof ModelOutage && error.since === 17)
  assert.equal(provider.calls(), 1)
})

test('a single response that cannot be used is retried; the third one in a row is permanent', async () => {
  const unusable = () => new ModelError('bad-response', 'a page')
  assert.equal((await modelCall([unusable(), unusable(), yes]).output).text, 'yes')
  const last = unusable()
  const { output, pauses, provider } = modelCall([unusable(), unusable(), last, yes])
  await assert.rejects(output, (error) => error === last)
  assert.equal(provider.calls(), 3)
  assert.ok(pauses.reduce((sum, ms) => sum + ms, 0) > 8_000, 'a server has time to restart')
})

test('another failure in between starts the count of unusable responses again', async () => {
  const unusable = () => new ModelError('bad-response', 'a page')
  const busy = new ModelError('overloaded', 'later')
  const { output } = modelCall([unusable(), unusable(), busy, unusable(), unusable(), yes])
  assert.equal((await output).text, 'yes')
})

test('a response that a plugin made unusable is not retried', async () => {
  const failure = new ModelError('bad-response', 'a plugin', { maxTries: 1 })
  const { output, provider } = modelCall([failure, yes])
  await assert.rejects(output, (error) => error === failure)
  assert.equal(provider.calls(), 1)
})

test('a call that exceeds its total limit is retried once', async () => {
  const tooLong = () => new ModelError('timeout', 'too long', { maxTries: 2 })
  const { output, provider } = modelCall([tooLong(), tooLong(), yes])
  await assert.rejects(output, (error) => error instanceof ModelError && !(error instanceof ModelOutage))
  assert.equal(provider.calls(), 2)
})

test('an empty response is retried and its tokens are counted', async () => {
  const { result } = modelCall([{ chunks: [] }, yes])
  const { output, usage } = await result
  assert.equal(output.text, 'yes')
  assert.equal(usage.inputTokens, 2 * usagePerCall.inputTokens)
})

test('the third empty response in a row is accepted, and at once where nothing has to be said', async () => {
  const { output, provider } = modelCall([{ chunks: [] }, { chunks: [' '] }, { chunks: [] }])
  assert.equal((await output).text, '')
  assert.equal(provider.calls(), 3)
  const allowed = modelCall([{ chunks: [] }, yes], { acceptsEmpty: true })
  assert.equal((await allowed.output).text, '')
})

test('a response without text that was cut off or filtered is not retried', async () => {
  for (const finishReason of ['length', 'content_filter']) {
    const { output } = modelCall([{ chunks: [], finishReason }, yes])
    assert.equal((await output).text, '')
  }
})

test('the trouble ends with the first output, not with the end of the response', async () => {
  const { output, trouble, provider, stop } = modelCall([
    new ModelError('overloaded', 'no'),
    { chunks: ['half'], hang: true },
  ])
  await provider.hanging
  assert.deepEqual(trouble, ['127.0.0.1 overloaded', 'recovered'])
  stop.abort(new Error('stop'))
  await assert.rejects(output)
})

function isOutage(kind: ModelErrorKind) {
  return (error: unknown) => error instanceof ModelOutage && error.kind === kind
}

test('after the last retry the call rejects with the last error', async () => {
  const failures = [1, 2, 3].map((number) => new ModelError('overloaded', `failure ${number}`))
  const { output, provider } = modelCall(failures, { maxRetries: 2 })
  await assert.rejects(output, (error) => error === failures[2])
  assert.equal(provider.calls(), 3)
  const once = modelCall(failures, { maxRetries: 0 })
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
  const pause = async () => stop.abort(reason)
  const { output, provider } = modelCall([new ModelError('overloaded', 'no'), yes], { pause }, stop)
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

const withItems: readonly ChatMessage[] = [
  question,
  { role: 'assistant', content: 'ok', providerData: { apiMode: 'anthropic_messages', items: [{ sealed: 1 }] } },
  { role: 'user', content: 'go on' },
]
const boundElsewhere = new ModelError(
  'invalid-request',
  'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.',
)

test('reasoning that its vendor no longer accepts is left out, and the request is repeated at once', async () => {
  const { output, provider, pauses } = modelCall([boundElsewhere, yes], { messages: withItems })
  assert.equal((await output).text, 'yes')
  assert.deepEqual(pauses, [])
  assert.match(JSON.stringify(provider.requests[0]), /sealed/)
  assert.doesNotMatch(JSON.stringify(provider.requests[1]), /sealed/)
})

test('the request is repeated once only, and not where there is no reasoning', async () => {
  await assert.rejects(modelCall([boundElsewhere, boundElsewhere], { messages: withItems }).output, boundElsewhere)
  await assert.rejects(modelCall([boundElsewhere]).output, boundElsewhere)
  const other = new ModelError('invalid-request', 'tools.0.name: too long')
  await assert.rejects(modelCall([other], { messages: withItems }).output, other)
})
