/**
 * Spans of whole turns, as a collector on this machine receives them.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { inputContentAttributes, outputContentAttributes } from '../../../plugins/otel/content.ts'
import { loadTracing } from '../../../plugins/otel/load-tracing.ts'
import { parseOtelSettings } from '../../../plugins/otel/settings.ts'
import { asArray, asRecord, asString } from '../../../src/sdk.ts'
import { startAnthropicServer } from '../../kit/servers/anthropic-server.ts'
import type { TestGateway, TestGatewayOptions } from '../../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../loader-support.ts'
import { pluginsConfig, startWithBundledPlugins } from './support.ts'

interface SeenSpan {
  readonly name: string
  readonly kind: unknown
  readonly id: string
  readonly parent: string
  readonly trace: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: Readonly<Record<string, unknown>>
  readonly events: readonly string[]
  readonly begin: bigint
  readonly end: bigint
}

interface Collector {
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>[]
  readonly resources: unknown[]
  readonly spans: SeenSpan[]
}

async function startCollector(t: TestContext, status = 200): Promise<Collector> {
  const seen: Omit<Collector, 'url'> = { headers: [], resources: [], spans: [] }
  const server = createServer(async (request, response) => {
    const body = asRecord(await json(request))
    seen.headers.push({ ...request.headers, path: request.url })
    for (const resource of asArray(body['resourceSpans']).map(asRecord)) {
      seen.resources.push(attributesOf(asRecord(resource['resource'])))
      const scopes = asArray(resource['scopeSpans']).map(asRecord)
      seen.spans.push(...scopes.flatMap(({ spans }) => asArray(spans).map(asRecord).map(seenSpan)))
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => void server.close(() => resolve()))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the collector has no port')
  return { url: `http://127.0.0.1:${address.port}`, ...seen }
}

function seenSpan(span: Readonly<Record<string, unknown>>): SeenSpan {
  return {
    name: asString(span['name']),
    kind: span['kind'],
    id: asString(span['spanId']),
    parent: asString(span['parentSpanId']),
    trace: asString(span['traceId']),
    attributes: attributesOf(span),
    status: asRecord(span['status']),
    events: asArray(span['events']).map((event) => asString(asRecord(event)['name'])),
    begin: BigInt(asString(span['startTimeUnixNano'])),
    end: BigInt(asString(span['endTimeUnixNano'])),
  }
}

function attributesOf({ attributes }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const values = asArray(attributes)
    .map(asRecord)
    .map(({ key, value }) => [asString(key), plainValue(asRecord(value))])
  return Object.fromEntries(values)
}

function plainValue(value: Readonly<Record<string, unknown>>): unknown {
  const items = asRecord(value['arrayValue'])['values']
  if (Array.isArray(items)) return items.map((item) => plainValue(asRecord(item)))
  const number = value['intValue'] ?? value['doubleValue']
  return number === undefined ? (value['stringValue'] ?? value['boolValue']) : Number(number)
}

/** Everything is sent when the gateway has stopped. */
async function traced(
  t: TestContext,
  collector: Collector,
  settings: Readonly<Record<string, unknown>> = {},
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  return startWithBundledPlugins(
    t,
    { otel: { endpoint: collector.url, headers: { 'x-team': 'a' }, ...settings } },
    options,
  )
}

function one(collector: Collector, name: string): SeenSpan {
  const found = collector.spans.filter((span) => span.name === name)
  assert.equal(found.length, 1, `${name} among ${collector.spans.map((span) => span.name).join(', ')}`)
  return found[0] ?? assert.fail(name)
}

const withTool: TestGatewayOptions = {
  replies: [{ toolCalls: [{ name: 'todo', arguments: {} }] }, { text: 'A private answer' }],
}

test('a turn is a tree of spans: session, turn, iterations, model and tool calls', async (t) => {
  const collector = await startCollector(t)
  const gateway = await traced(t, collector, {}, withTool)
  await gateway.say('a private question')
  await gateway.waitForReply('A private answer')
  await gateway.stop()
  const byId = new Map(collector.spans.map((span) => [span.id, span]))
  const pathOf = (span: SeenSpan | undefined): string =>
    span === undefined ? '' : `${pathOf(byId.get(span.parent))}/${span.name}`
  assert.deepEqual(collector.spans.map(pathOf).sort(), [
    '/session',
    '/session/invoke_agent hermes',
    '/session/invoke_agent hermes/iteration',
    '/session/invoke_agent hermes/iteration',
    '/session/invoke_agent hermes/iteration/chat test-model',
    '/session/invoke_agent hermes/iteration/chat test-model',
    '/session/invoke_agent hermes/iteration/execute_tool todo',
  ])
  assert.equal(new Set(collector.spans.map(({ trace }) => trace)).size, 1)
  for (const span of collector.spans) {
    const parent = byId.get(span.parent)
    assert.ok(span.begin < span.end && (parent === undefined || (parent.begin <= span.begin && span.end <= parent.end)))
  }
})

test('model and tool spans have the attributes of the GenAI conventions, without content', async (t) => {
  const collector = await startCollector(t)
  const config = { max_output_tokens: 77 }
  const gateway = await traced(t, collector, { service_name: 'my-hermes' }, { ...withTool, config })
  await gateway.say('a private question')
  await gateway.waitForReply('A private answer')
  const { port } = new URL(gateway.model.baseUrl)
  await gateway.stop()
  const last = collector.spans.filter(({ name }) => name === 'chat test-model').at(-1) ?? assert.fail()
  const { 'gen_ai.response.time_to_first_chunk': first, ...said } = last.attributes
  assert.equal(typeof first, 'number')
  const turn = one(collector, 'invoke_agent hermes').attributes
  assert.deepEqual(said, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'test-model',
    'gen_ai.request.max_tokens': 77,
    'gen_ai.request.stream': true,
    'gen_ai.response.id': 'chatcmpl-1',
    'gen_ai.response.model': 'test-model',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.output_tokens': 7,
    'gen_ai.usage.cache_read.input_tokens': 3,
    'gen_ai.usage.cache_creation.input_tokens': 0,
    'gen_ai.conversation.id': turn['gen_ai.conversation.id'],
    'session.id': turn['session.id'],
    'hermes.turn.id': turn['hermes.turn.id'],
    'hermes.task.id': turn['hermes.task.id'],
    'hermes.platform': 'fake',
    'hermes.route': 'fake_dm',
    'hermes.iteration': 2,
    'hermes.api_request.id': said['hermes.api_request.id'],
    'hermes.retry_count': 0,
    'server.address': '127.0.0.1',
    'server.port': Number(port),
  })
  assert.equal(last.kind, 3)
  assert.deepEqual([turn['gen_ai.operation.name'], turn['gen_ai.agent.name']], ['invoke_agent', 'hermes'])
  const tool = one(collector, 'execute_tool todo').attributes
  assert.deepEqual(
    ['gen_ai.operation.name', 'gen_ai.tool.name', 'gen_ai.tool.type', 'gen_ai.tool.call.id'].map((name) => tool[name]),
    ['execute_tool', 'todo', 'function', 'call_0'],
  )
  assert.doesNotMatch(JSON.stringify(collector.spans.map(({ attributes }) => attributes)), /private/)
  assert.equal(asRecord(collector.resources[0])['service.name'], 'my-hermes')
  const [headers] = collector.headers
  assert.deepEqual([headers?.['path'], headers?.['x-team']], ['/v1/traces', 'a'])
})

test('with content enabled, spans contain the conversation, with long texts truncated', async (t) => {
  const collector = await startCollector(t)
  const gateway = await traced(t, collector, { include_content: true, max_text_chars: 20 }, withTool)
  await gateway.say('a private question that goes on')
  await gateway.waitForReply('A private answer')
  await gateway.stop()
  const [first, last] = collector.spans.filter(({ name }) => name === 'chat test-model').map((span) => span.attributes)
  const read = (attributes: SeenSpan['attributes'] | undefined, name: string): unknown =>
    JSON.parse(asString(attributes?.[`gen_ai.${name}`]))
  const call = { type: 'tool_call', id: 'call_0', name: 'todo', arguments: '{}' }
  assert.deepEqual(read(first, 'output.messages'), [{ role: 'assistant', parts: [call] }])
  const input = asArray(read(last, 'input.messages'))
  assert.deepEqual(input.slice(0, 2), [
    { role: 'user', parts: [{ type: 'text', content: 'a private question t…' }] },
    { role: 'assistant', parts: [call] },
  ])
  assert.equal(asRecord(input[2])['role'], 'tool')
  assert.deepEqual(read(last, 'output.messages'), [
    { role: 'assistant', parts: [{ type: 'text', content: 'A private answer' }] },
  ])
  assert.equal(asArray(read(last, 'system_instructions')).length, 1)
  assert.equal(one(collector, 'execute_tool todo').attributes['gen_ai.tool.call.arguments'], '{}')
})

test('a failure sets the error status of its span, and a rejected call names its guardrail', async (t) => {
  const collector = await startCollector(t)
  const guard = pluginFiles(
    'guard',
    `ctx.registerGuardrail('closed', 'tool', ({ toolName }) => toolName === 'todo' ? 'no lists' : null)`,
  )
  const gateway = await traced(
    t,
    collector,
    {},
    {
      startNow: false,
      prepare: (home) => writeFiles(home.plugins, guard),
      replies: [{ toolCalls: [{ name: 'todo', arguments: {} }] }, { error: { status: 401 } }],
    },
  )
  gateway.configure({ plugins: pluginsConfig({ guard: {}, otel: { endpoint: collector.url } }) })
  await gateway.start()
  await gateway.say('go')
  await gateway.waitForReply('Sorry')
  await gateway.stop()
  const failed = collector.spans.filter(({ name }) => name === 'chat test-model').at(-1)
  assert.deepEqual([failed?.attributes['error.type'], failed?.status['code']], ['authentication', 2])
  assert.equal(one(collector, 'invoke_agent hermes').status['code'], 2)
  assert.ok(one(collector, 'guardrail closed').parent !== '')
  assert.deepEqual(collector.spans.find(({ name }) => name === 'iteration')?.events, ['todo'])
})

test('the wire format of Anthropic is supported', async (t) => {
  const collector = await startCollector(t)
  const model = await startAnthropicServer({ replies: [{ text: 'Hello' }] })
  t.after(() => model.stop())
  const config = { provider: 'anthropic', base_url: model.baseUrl, model: 'claude-x' }
  const gateway = await traced(t, collector, { include_content: true }, { config })
  await gateway.say('hi')
  await gateway.waitForReply('Hello')
  await gateway.stop()
  const { attributes } = one(collector, 'chat claude-x')
  assert.deepEqual(
    ['provider.name', 'response.finish_reasons', 'usage.input_tokens', 'usage.cache_read.input_tokens'].map(
      (name) => attributes[`gen_ai.${name}`],
    ),
    ['anthropic', ['end_turn'], 11, 3],
  )
  assert.match(asString(attributes['gen_ai.output.messages']), /"content":"Hello"/)
})

test('conversations of all wire formats have the same attributes', () => {
  const call = { type: 'tool_call', id: 'c', name: 'f', arguments: '{"a":1}' }
  const expected = [
    { role: 'user', parts: [{ type: 'text', content: 'hi' }] },
    { role: 'assistant', parts: [{ type: 'text', content: 'well' }, call] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: 'done' }] },
  ]
  const fn = { name: 'f', arguments: '{"a":1}' }
  const chat = {
    messages: [
      { role: 'system', content: 'rules' },
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'well', tool_calls: [{ id: 'c', type: 'function', function: fn }] },
      { role: 'tool', tool_call_id: 'c', content: 'done' },
    ],
  }
  const anthropic = {
    system: [{ type: 'text', text: 'rules' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'well' },
          { type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'done' }] },
    ],
  }
  for (const request of [chat, anthropic]) {
    const attributes = inputContentAttributes(request, 100)
    assert.deepEqual(JSON.parse(attributes['gen_ai.input.messages'] ?? ''), expected)
    assert.equal(attributes['gen_ai.system_instructions'], '[{"type":"text","content":"rules"}]')
  }
  const items = [
    { type: 'reasoning', summary: [] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'well' }] },
    { type: 'function_call', call_id: 'c', ...fn },
  ]
  const outputMessages = JSON.parse(outputContentAttributes({ output: items }, 100)['gen_ai.output.messages'] ?? '')
  assert.deepEqual(outputMessages, [expected[1]])
  const input = [
    { role: 'user', content: 'hi' },
    ...items,
    { type: 'function_call_output', call_id: 'c', output: 'done' },
  ]
  const [user, said, called, result] = JSON.parse(inputContentAttributes({ input }, 100)['gen_ai.input.messages'] ?? '')
  assert.deepEqual([user, result], [expected[0], expected[2]])
  assert.deepEqual([...said.parts, ...called.parts], expected[1]?.parts)
})

test('a failing collector is logged once and delays neither turns nor the stop', async (t) => {
  const collector = await startCollector(t, 400)
  const gateway = await traced(t, collector, { interval_ms: 1 })
  for (const word of ['one', 'two']) {
    await gateway.say(word)
    await gateway.waitForReply(`You said: ${word}`)
  }
  await gateway.waitForLog('otel.export_failed')
  await gateway.stop()
  assert.equal(gateway.log.filter((line) => line.includes('otel.export_failed')).length, 1)
})

test('a missing package is reported with the command that installs it; other errors are unchanged', async () => {
  const missing = '@opentelemetry/not-installed'
  await assert.rejects(
    loadTracing(() => import(missing)),
    /npm install @opentelemetry\/api@1\.9\.1 @opentelemetry\/sdk-trace-node@/,
  )
  const other = new Error('something else')
  await assert.rejects(
    loadTracing(() => Promise.reject(other)),
    other,
  )
})

test('an invalid setting is named, and an endpoint can have a path', () => {
  const base = { max_queue: 1, interval_ms: 1, timeout_ms: 1 }
  assert.throws(() => parseOtelSettings({ ...base, endpoint: 'localhost:4318' }), /settings\.endpoint/)
  assert.throws(() => parseOtelSettings({ ...base, max_queue: 0 }), /settings\.max_queue/)
  for (const endpoint of ['http://c:4318', 'http://c:4318/', 'http://c:4318/v1/traces'])
    assert.equal(parseOtelSettings({ ...base, endpoint }).url, 'http://c:4318/v1/traces')
  assert.equal(parseOtelSettings(base).url, undefined)
})
