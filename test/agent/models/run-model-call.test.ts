import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../../src/agent/models/provider.ts'
import type { AgentHooks } from '../../../src/agent/support/agent-hooks.ts'
import type { ModelRequest } from '../../../src/agent/support/model-request.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { ExecutionOptions } from '../../../src/middleware/contract.ts'
import { createMiddleware } from '../../../src/middleware/middleware.ts'
import { call, type ScriptStep } from '../../kit/scripted-provider.ts'
import { createRecordingHooks } from '../recording-hooks.ts'
import { runTestAgent, type TestAgentOptions } from '../run-test-agent.ts'

const tools = { look: async () => '"seen"', write: async () => '"written"' }
const asksForTool: ScriptStep = { chunks: ['Let me look.'], calls: [call('a', 'look')] }

function watchedRun(script: readonly ScriptStep[], answers: Partial<AgentHooks> = {}, setting: TestAgentOptions = {}) {
  const middleware = createMiddleware({ log: silentLog })
  const hooks = createRecordingHooks(answers)
  // The run starts immediately: the registrations below exist before its first model call.
  return { ...runTestAgent(script, tools, { middleware, ...setting, hooks }), middleware, agentHooks: hooks }
}

/** Requests a reissue with another model until it has received `times` responses. */
function reissueTo(model: string, times = Number.POSITIVE_INFINITY): AgentHooks['reissue'] {
  let received = 0
  return async (_facts, request): Promise<ModelRequest | null> => (received++ < times ? { ...request, model } : null)
}

test('each model call is observed with its own number, failed or complete', async () => {
  const { result, agentHooks } = watchedRun([
    new ModelError('overloaded', 'busy', { status: 503 }),
    new ModelError('network', 'gone'),
    asksForTool,
    { chunks: ['done'] },
  ])
  await result
  const numbers = agentHooks.requestStarts.map(({ info }) => [info.iteration, info.apiCallCount, info.retryCount])
  assert.deepEqual(numbers, [
    [1, 1, 0],
    [1, 1, 1],
    [1, 1, 2],
    [2, 2, 0],
  ])
  const ids = agentHooks.requestStarts.map(({ info }) => info.apiRequestId)
  assert.equal(new Set(ids).size, 4)
  for (const id of ids) assert.match(id, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  assert.deepEqual(
    agentHooks.requestFailures.map(({ reason, statusCode, retryable }) => [reason, statusCode, retryable]),
    [
      ['overloaded', 503, true],
      ['network', null, true],
    ],
  )
  assert.deepEqual(
    agentHooks.requestEnds.map(({ info, finishReason }) => [info.apiRequestId, finishReason]),
    [
      [ids[2], 'tool_calls'],
      [ids[3], 'stop'],
    ],
  )
  assert.deepEqual(agentHooks.requestEnds[0]?.usage, {
    input_tokens: 10,
    output_tokens: 3,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    total_tokens: 13,
  })
})

test('a tool call has the id of the model call that requested it', async () => {
  const asked: string[] = []
  const { result, agentHooks } = watchedRun([asksForTool, { chunks: ['done'] }], {
    beforeToolCall: async ({ apiRequestId }, args) => {
      asked.push(apiRequestId)
      return { kind: 'run', args }
    },
  })
  await result
  assert.deepEqual(asked, [agentHooks.requestStarts[0]?.info.apiRequestId])
})

test('a tool filter applies to one request; the next one offers all tools again', async () => {
  let first = true
  const { result, provider } = watchedRun([asksForTool, { chunks: ['done'] }], {
    filterTools: async (_turn, offered) => {
      const kept = first ? offered.filter(({ name }) => name === 'look') : offered
      first = false
      return kept
    },
  })
  await result
  const names = provider.sent.map(({ tools }) => (Array.isArray(tools) ? tools.map(({ name }) => name) : tools))
  assert.deepEqual(names, [['look'], ['look', 'write']])
})

test('a request with all tools filtered out has no tools field', async () => {
  const { result, provider } = watchedRun([{ chunks: ['done'] }], { filterTools: async () => [] })
  await result
  assert.equal('tools' in (provider.sent[0] ?? {}), false)
})

test('the request that is sent and observed is the one after all rewrites', async () => {
  const { result, provider, agentHooks, middleware } = watchedRun([{ chunks: ['done'] }], {
    rewriteRequest: async (_facts, request) => ({ ...request, timeout: 5 }),
  })
  middleware.registerMiddleware('llm_request', ({ request }) => ({
    request: { ...request, extra_body: { metadata: { hermes_middleware_demo: true } } },
    source: 'middleware-demo',
    reason: 'tagged provider request',
  }))
  await result
  const [sent] = provider.sent
  assert.deepEqual([sent?.timeout, sent?.extra_body], [5, { metadata: { hermes_middleware_demo: true } }])
  assert.deepEqual(agentHooks.requestStarts[0]?.request, sent)
  assert.deepEqual(agentHooks.requestEnds[0]?.request, sent)
  const trace = [{ source: 'middleware-demo', reason: 'tagged provider request' }]
  assert.deepEqual([agentHooks.requestStarts[0]?.trace, agentHooks.requestEnds[0]?.trace], [trace, trace])
})

test('an iteration has at most one reissue, and its response replaces the first one', async () => {
  const { result, provider, agentHooks, journal, listener, middleware } = watchedRun(
    [{ chunks: ['not sure'], calls: [call('a', 'look')] }, asksForTool, { chunks: ['perhaps'] }, { chunks: ['sure'] }],
    { reissue: reissueTo('large'), outputMayChange: () => true },
  )
  const spans: string[] = []
  middleware.registerSubscriber('cost', ({ category, scope_category, category_profile }) => {
    if (category === 'llm' && scope_category === 'end') spans.push(String(category_profile?.['model_name']))
  })
  const { text, usage } = await result
  await middleware.flush()
  assert.equal(text, 'sure')
  assert.deepEqual(
    provider.sent.map(({ model }) => model),
    ['m', 'large', 'm', 'large'],
  )
  assert.deepEqual(
    agentHooks.requestStarts.map(({ info }) => [info.iteration, info.apiCallCount]),
    [
      [1, 1],
      [1, 2],
      [2, 3],
      [2, 4],
    ],
  )
  assert.deepEqual(spans, ['m', 'large', 'm', 'large'], 'both calls are recorded')
  assert.deepEqual(
    agentHooks.requestEnds.map(({ info, request }) => [info.apiCallCount, info.turn.model, request.model]),
    [
      [2, 'large', 'large'],
      [4, 'large', 'large'],
    ],
    'observers of answers hear of the second one only',
  )
  assert.equal(journal.messages[0]?.content, 'Let me look.')
  assert.equal(usage.inputTokens, 20, 'both calls are billed')
  assert.deepEqual(listener.texts, [], 'the first response was not shown')
})

test('pre_api_request_mutable does not run for the request of a reissue', async () => {
  const { result, provider } = watchedRun([{ chunks: ['not sure'] }, { chunks: ['sure'] }], {
    rewriteRequest: async (_facts, request) => ({ ...request, model: 'small' }),
    reissue: reissueTo('large', 1),
  })
  assert.equal((await result).text, 'sure')
  assert.deepEqual(
    provider.sent.map(({ model }) => model),
    ['small', 'large'],
  )
})

test('when a reissue fails, the first response is used and the failure is observed', async () => {
  const { result, agentHooks } = watchedRun([{ chunks: ['not sure'] }, new ModelError('auth', 'no such model')], {
    reissue: reissueTo('large'),
  })
  assert.equal((await result).text, 'not sure')
  assert.deepEqual(
    agentHooks.requestFailures.map(({ reason, info }) => [reason, info.apiCallCount]),
    [['auth', 2]],
  )
  assert.deepEqual(
    agentHooks.requestEnds.map(({ info }) => info.apiCallCount),
    [1],
  )
})

test('text that plugins may still change is not shown while it is streamed', async () => {
  const held = watchedRun([asksForTool, { chunks: ['do', 'ne'] }], { outputMayChange: () => true })
  await held.result
  assert.deepEqual(held.listener.texts, [], 'the text is transformed after the turn')
})

test('text is shown while it is streamed, with and without a wrapper around the call', async () => {
  const free = watchedRun([asksForTool, { chunks: ['do', 'ne'] }])
  const wrapped = watchedRun([asksForTool, { chunks: ['do', 'ne'] }])
  wrapped.middleware.registerMiddleware('llm_execution', ({ next_call }) => next_call())
  for (const { result, listener } of [free, wrapped]) {
    await result
    assert.deepEqual([...new Set(listener.texts)], ['Let me look.', 'do', 'done'])
  }
})

/** What the user may see of a text that a wrapper around the call replaces. */
async function shownWhileReplaced(options: ExecutionOptions): Promise<readonly string[]> {
  const { result, middleware, listener } = watchedRun([{ chunks: ['my ', 'secret'] }])
  middleware.registerMiddleware(
    'llm_execution',
    async ({ next_call }) => JSON.parse(JSON.stringify(await next_call()).replace('my secret', 'hidden')),
    options,
  )
  assert.equal((await result).text, 'hidden')
  return listener.texts.map((text, index) => (listener.provisional[index] === true ? `${text}?` : text))
}

test('without a declaration, the text that a wrapper replaces is shown as provisional', async () => {
  assert.deepEqual(await shownWhileReplaced({}), ['my ?', 'my secret?', 'hidden'])
})

test('a wrapper that declares a replacement never shows the text of the model', async () => {
  assert.deepEqual(await shownWhileReplaced({ answers: 'replaced' }), ['hidden'])
})

test('a wrapper that declares to change nothing has the text shown as final, and corrected if it changes', async () => {
  assert.deepEqual(await shownWhileReplaced({ answers: 'unchanged' }), ['my ', 'my secret', 'hidden'])
})

test('the text of a second call of a wrapper replaces that of the first one', async () => {
  const { result, middleware, listener } = watchedRun([{ chunks: ['vague'] }, { chunks: ['clear'] }])
  middleware.registerIntercept('twice', 'model_execution', async (_call, next) => {
    await next()
    return next()
  })
  assert.equal((await result).text, 'clear')
  assert.deepEqual(listener.texts, ['vague', '', 'clear', 'clear'])
})

test('observers get the model of the rewritten request', async () => {
  const { result, agentHooks } = watchedRun([{ chunks: ['sure'] }], {
    rewriteRequest: async (_facts, request) => ({ ...request, model: 'small' }),
  })
  await result
  const { requestStarts, requestEnds } = agentHooks
  assert.deepEqual([requestStarts[0]?.info.turn.model, requestEnds[0]?.info.turn.model], ['small', 'small'])
})

test('chunks that a plugin changes are shown and aggregated', async () => {
  const { result, middleware, listener, agentHooks } = watchedRun([{ chunks: ['my ', 'secret'] }])
  middleware.registerIntercept('mask', 'model_stream', async function* mask(_call, next) {
    for await (const chunk of await next()) {
      const text = typeof chunk === 'object' && chunk !== null && 'text' in chunk ? chunk.text : undefined
      yield typeof text === 'string' ? { text: text.replace('secret', '***') } : chunk
    }
  })
  assert.equal((await result).text, 'my ***')
  assert.deepEqual(listener.texts, ['my ', 'my ***'])
  assert.equal(agentHooks.streamed(), 'my ***|')
})

test('a plugin may return a response in the format of the model; anything else is an error that names the plugin as the cause', async () => {
  const answered = watchedRun([])
  answered.middleware.registerMiddleware('llm_execution', () => ({ text: 'from the cache', calls: [] }))
  assert.equal((await answered.result).text, 'from the cache')
  assert.equal(answered.provider.calls(), 0)
  for (const value of ['just a text', null, { choices: [] }]) {
    const { result, middleware, agentHooks } = watchedRun([])
    middleware.registerMiddleware('llm_execution', () => value)
    await assert.rejects(
      result,
      (error) => error instanceof ModelError && error.kind === 'bad-response' && /plugin/.test(error.message),
    )
    assert.equal(agentHooks.requestFailures[0]?.reason, 'bad-response')
  }
})

test('an abort is not observed as a failed request', async () => {
  const { result, provider, stop, agentHooks } = watchedRun([{ chunks: ['half'], hang: true }])
  await provider.hanging
  stop.abort(new Error('stop'))
  await assert.rejects(result, (error) => error === stop.signal.reason)
  assert.deepEqual(agentHooks.requestFailures, [])
  assert.equal(agentHooks.streamed(), 'half(stop)|', 'the stream still gets its end')
})

test('after an abort, middleware that never settles is abandoned after the grace period', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { result, stop, middleware } = watchedRun([])
  const held = Promise.withResolvers<void>()
  middleware.registerMiddleware('llm_execution', () => {
    held.resolve()
    return new Promise(() => undefined)
  })
  await held.promise
  const reason = new Error('stop')
  stop.abort(reason)
  const ended = assert.rejects(result, (error) => error === reason)
  await Promise.resolve()
  t.mock.timers.tick(5_000)
  await ended
})

test('a plugin that throws while it observes chunks fails the call, and the connection is closed', async () => {
  const fault = new Error('cannot read this')
  const { result, middleware } = watchedRun([{ chunks: ['a', 'b'] }])
  middleware.registerIntercept('broken', 'model_stream', async function* broken(_call, next) {
    for await (const chunk of await next()) {
      yield chunk
      throw fault
    }
  })
  await assert.rejects(result, (error) => error === fault)
})
