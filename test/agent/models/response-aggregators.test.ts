/** Aggregation of the chunks of a stream, valid and invalid. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  createAnthropicAggregator,
  parseAnthropicDelta,
  parseAnthropicResponse,
} from '../../../src/agent/models/anthropic/response.ts'
import { parseChunkFailure } from '../../../src/agent/models/map-provider-error.ts'
import { createChatFormat } from '../../../src/agent/models/openai/chat-completions.ts'
import { responsesFormat } from '../../../src/agent/models/openai/responses.ts'
import { ModelError } from '../../../src/agent/models/provider.ts'
import type { ResponseAggregator } from '../../../src/agent/models/wire-format.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import { asArray, asRecord, isRecord } from '../../../src/lib/json.ts'

const {
  createAggregator: createChatAggregator,
  parseDelta: parseChatDelta,
  parseResponse: parseChatResponse,
} = createChatFormat({})
const {
  createAggregator: createResponsesAggregator,
  parseDelta: parseResponsesDelta,
  parseResponse: parseResponsesResponse,
} = responsesFormat

function collected(aggregator: ResponseAggregator, chunks: readonly JsonObject[]): JsonObject | null {
  for (const chunk of chunks) aggregator.add(chunk)
  return aggregator.result()
}

const chat = (...chunks: JsonObject[]) => collected(createChatAggregator(10_000), chunks)
const delta = (fields: JsonObject, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason }],
})
const badResponse = (error: unknown) => error instanceof ModelError && error.kind === 'bad-response'

test('undocumented fields are part of the final completion', () => {
  const response = chat(
    { id: 'x', object: 'chat.completion.chunk', provider: 'north', choices: [], obfuscation: 'padding' },
    delta({ role: 'assistant', reasoning_details: [{ index: 0, type: 'reasoning.text', text: 'first ' }] }),
    delta({ reasoning_details: [{ index: 0, text: 'look', signature: 'seal' }], annotations: [{ url: 'a' }] }),
    delta({ content: 'Hi', annotations: [{ url: 'b' }] }),
    {
      choices: [{ index: 0, delta: {}, finish_reason: 'stop', native_finish_reason: 'end' }],
      usage: { prompt_tokens: 1 },
    },
    {
      choices: [{ index: 0, delta: { content: null }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, cost: 0.1 },
    },
  )
  assert.deepEqual(response, {
    id: 'x',
    object: 'chat.completion',
    provider: 'north',
    usage: { prompt_tokens: 5, cost: 0.1 },
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        native_finish_reason: 'end',
        message: {
          role: 'assistant',
          content: 'Hi',
          reasoning_details: [{ index: 0, type: 'reasoning.text', text: 'first look', signature: 'seal' }],
          annotations: [{ url: 'a' }, { url: 'b' }],
        },
      },
    ],
  })
})

test('tool calls are separated even when a server numbers them incorrectly', () => {
  const piece = (index: number | undefined, id: string | undefined, name: string | undefined, args: string) =>
    delta({ tool_calls: [{ index, id, function: { name, arguments: args } }] })
  const streams = [
    [piece(0, 'a', 'f', '{"x"'), piece(0, undefined, undefined, ':1}'), piece(1, 'b', 'g', '{}')],
    // Every call has the index 0.
    [piece(0, 'a', 'f', '{"x":1}'), piece(0, 'b', 'g', '{}')],
    // No call has an index.
    [
      piece(undefined, 'a', 'f', '{"x"'),
      piece(undefined, undefined, undefined, ':1}'),
      piece(undefined, 'b', 'g', '{}'),
    ],
    // The id changes with every piece, and the name is repeated as an empty string.
    [piece(0, 'a', 'f', '{"x"'), piece(0, 'z', '', ':1}'), piece(1, 'b', 'g', '{}')],
  ]
  for (const stream of streams) {
    const response = chat(...stream, delta({}, 'tool_calls'))
    assert.ok(response !== null)
    const calls = parseChatResponse(response).toolCalls.map((call) => [call.name, call.arguments])
    assert.deepEqual(calls, [
      ['f', '{"x":1}'],
      ['g', '{}'],
    ])
  }
})

test('tool calls without usable ids get ids that differ between responses', () => {
  const response = (id: string) => ({
    id,
    choices: [
      { message: { tool_calls: [{ function: { name: 'f', arguments: { x: 1 } } }, { id: 'a' }, { id: 'a' }] } },
    ],
  })
  const [first, second] = [parseChatResponse(response('r1')).toolCalls, parseChatResponse(response('r2')).toolCalls]
  assert.equal(new Set(first.map((call) => call.id)).size, 3)
  assert.notEqual(first[0]?.id, second[0]?.id)
  assert.equal(first[0]?.arguments, '{"x":1}')
})

test('a stream is complete with a finish reason or with [DONE], not without either', () => {
  assert.equal(chat(delta({ content: 'half' })), null)
  assert.ok(chat(delta({ content: 'whole' }), delta({}, 'stop')) !== null)
  const marked = createChatAggregator(100)
  marked.add(delta({ content: 'whole' }))
  marked.markDone()
  assert.ok(marked.result() !== null)
  const empty = createChatAggregator(100)
  empty.markDone()
  assert.throws(() => empty.result(), badResponse)
})

test('values of a wrong type are rejected', () => {
  const wrongChat = [
    { choices: 'text' },
    { choices: [1] },
    { choices: [{ index: 'a', delta: {} }] },
    { choices: [{ index: 1e9, delta: {} }] },
    { choices: [{ index: 0, delta: 'text' }] },
    delta({ content: 5 }),
    delta({ tool_calls: {} }),
    delta({ tool_calls: ['x'] }),
    delta({ tool_calls: [{ index: -1 }] }),
    delta({ tool_calls: [{ index: 0, function: 'f' }] }),
  ]
  for (const chunk of wrongChat) assert.throws(() => chat(chunk), badResponse, JSON.stringify(chunk))

  const start = { type: 'message_start', message: { role: 'assistant', content: [] } }
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  const wrongMessages = [
    [{}],
    [{ type: 'message_start', message: 'text' }],
    [{ type: 'message_delta', delta: {} }],
    [{ type: 'message_stop' }],
    [start, { type: 'content_block_start', index: 0 }],
    [start, { ...block, index: 1.5 }],
    [start, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } }],
    [start, block, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 5 } }],
    [start, block, { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: {} } }],
  ]
  for (const chunks of wrongMessages) {
    assert.throws(() => collected(createAnthropicAggregator(100), chunks), badResponse, JSON.stringify(chunks))
  }
  assert.throws(() => collected(createResponsesAggregator(100), [{ type: 'response.completed' }]), badResponse)
  assert.throws(() => collected(createResponsesAggregator(100), [{ delta: 'x' }]), badResponse)
})

test('a message keeps signatures, citations, unknown blocks and the last token counts', () => {
  const at = (index: number, fields: JsonObject) => ({ type: 'content_block_delta', index, delta: fields })
  const response = collected(createAnthropicAggregator(1000), [
    {
      type: 'message_start',
      message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 5, output_tokens: 1 } },
    },
    { type: 'ping' },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    at(0, { type: 'thinking_delta', thinking: 'h' }),
    at(0, { type: 'thinking_delta', thinking: 'm' }),
    at(0, { type: 'signature_delta', signature: 'seal' }),
    { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'sealed' } },
    { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '', citations: null } },
    at(2, { type: 'text_delta', text: 'Hi' }),
    at(2, { type: 'citations_delta', citation: { url: 'a' } }),
    { type: 'a_newer_event', anything: 1 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { input_tokens: null, output_tokens: 9 },
    },
    { type: 'message_stop' },
  ])
  assert.deepEqual(response, {
    id: 'm',
    role: 'assistant',
    stop_reason: 'end_turn',
    usage: { input_tokens: 5, output_tokens: 9 },
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'seal' },
      { type: 'redacted_thinking', data: 'sealed' },
      { type: 'text', text: 'Hi', citations: [{ url: 'a' }] },
    ],
  })
})

test('a final response without output is completed from the items sent before', () => {
  const item = { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }
  const response = collected(createResponsesAggregator(100), [
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'r', output: [] } },
  ])
  assert.deepEqual(response, { id: 'r', output: [item] })
})

test('a failed response is an error of the matching kind', () => {
  const response = { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'slow down' } }
  assert.throws(
    () => parseResponsesResponse(response),
    (error) => error instanceof ModelError && error.kind === 'rate-limit',
  )
})

test('the number of characters is limited in each wire format', () => {
  const long = 'x'.repeat(60)
  const block = {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} },
  }
  const json = { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: long } }
  const call = delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: long } }] })
  assert.throws(() => collected(createChatAggregator(100), [call, call]), badResponse)
  assert.throws(() => collected(createAnthropicAggregator(100), [block, json, json]), badResponse)
  const event = { type: 'response.function_call_arguments.delta', delta: long }
  assert.throws(() => collected(createResponsesAggregator(100), [event, event]), badResponse)
})

test('a field named __proto__ does not change a prototype', () => {
  const evil: unknown = JSON.parse(
    '{"__proto__":{"polluted":1},"choices":[{"delta":{"__proto__":{"polluted":1},"content":"x"},"finish_reason":"stop"}]}',
  )
  assert.ok(isRecord(evil))
  const response = chat(evil)
  assert.ok(response !== null)
  for (const holder of [response, asRecord(asRecord(asArray(response['choices'])[0])['message'])]) {
    assert.equal(Reflect.get(holder, 'polluted'), undefined)
  }
  assert.equal(Reflect.get({}, 'polluted'), undefined)
})

test('a message that begins again in one stream replaces what came before', () => {
  const start = { type: 'message_start', message: { role: 'assistant', content: [] } }
  const response = collected(createAnthropicAggregator(10_000), [
    start,
    ...block(0, 'text', [{ type: 'text_delta', text: 'I look' }]),
    ...block(1, 'text', [{ type: 'text_delta', text: ' it up' }]),
    start,
    ...block(0, 'text', [{ type: 'text_delta', text: 'It is four.' }]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ])
  assert.ok(response !== null)
  assert.equal(parseAnthropicResponse(response).text, 'It is four.')
})

test('arbitrary chunks and responses cause no error other than ModelError', () => {
  const keys = fc.constantFrom(
    'choices',
    'delta',
    'content',
    'tool_calls',
    'function',
    'index',
    'type',
    'message',
    'usage',
    'output',
    'response',
    'item',
    'error',
    'content_block',
    'text',
    'partial_json',
  )
  const types = fc.constantFrom(
    'message_start',
    'content_block_start',
    'content_block_delta',
    'message_delta',
    'message_stop',
    'text_delta',
    'response.completed',
    'response.output_item.done',
    'message',
    'error',
  )
  const { any } = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, 0, 1, 'a', true),
      types,
      fc.array(tie('any'), { maxLength: 2 }),
      fc.dictionary(keys, tie('any'), { maxKeys: 4 }),
    ),
  }))
  const readers = [
    [createChatAggregator, parseChatDelta, parseChatResponse],
    [createResponsesAggregator, parseResponsesDelta, parseResponsesResponse],
    [createAnthropicAggregator, parseAnthropicDelta, parseAnthropicResponse],
  ] as const
  fc.assert(
    fc.property(fc.array(fc.dictionary(keys, any, { maxKeys: 5 }), { maxLength: 4 }), (chunks) => {
      for (const [create, readDelta, parse] of readers) {
        const attempt = (work: () => unknown) => {
          try {
            work()
          } catch (error) {
            assert.ok(error instanceof ModelError, String(error))
          }
        }
        for (const chunk of chunks) {
          parseChunkFailure(chunk)
          readDelta(chunk)
          attempt(() => parse(chunk))
        }
        attempt(() => collected(create(1000), chunks))
      }
    }),
    { numRuns: 500, seed: 17 },
  )
})

const anthropicFormat = {
  createAggregator: createAnthropicAggregator,
  parseDelta: parseAnthropicDelta,
  parseResponse: parseAnthropicResponse,
}
const chatFormat = createChatFormat({})
const textPart = (text: string) => ({ type: 'text', text })
const thinkingPart = (text: string) => ({ type: 'thinking', thinking: [textPart(text)] })
const block = (index: number, type: string, deltas: readonly JsonObject[]): JsonObject[] => [
  { type: 'content_block_start', index, content_block: { type } },
  ...deltas.map((fields) => ({ type: 'content_block_delta', index, delta: fields })),
  { type: 'content_block_stop', index },
]

/** Streams with the shapes that vendors send, each with the same text and the same reasoning. */
const dialects = {
  'texts, as OpenAI sends them': [
    chatFormat,
    [
      delta({ role: 'assistant', content: '', reasoning: 'Two and two.' }),
      delta({ content: '2 + 2' }),
      delta({ content: ' = 4' }),
      delta({}, 'stop'),
    ],
  ],
  'reasoning_content, as DeepSeek sends it': [
    chatFormat,
    [
      delta({ content: null, reasoning_content: 'Two ' }),
      delta({ content: null, reasoning_content: 'and two.' }),
      delta({ content: '2 + 2 = 4', reasoning_content: null }),
      delta({ content: '' }, 'stop'),
    ],
  ],
  'lists of parts and a last empty text, as Magistral sends them': [
    chatFormat,
    [
      delta({ role: 'assistant', content: [thinkingPart('Two ')] }),
      delta({ content: [thinkingPart('and two.')] }),
      delta({ content: [textPart('2 + 2 = 4')] }),
      delta({ content: '' }, 'stop'),
    ],
  ],
  'lists of parts and then texts': [
    chatFormat,
    [
      delta({ content: [thinkingPart('Two and two.')] }),
      delta({ content: [textPart('2 + 2')] }),
      delta({ content: ' = ' }),
      delta({ content: [textPart('4')] }),
      delta({ content: null }, 'stop'),
    ],
  ],
  'a refusal, as OpenAI sends it': [
    chatFormat,
    [
      delta({ role: 'assistant', content: '', refusal: null, reasoning: 'Two and two.' }),
      delta({ content: null, refusal: '2 + 2' }),
      delta({ refusal: ' = 4' }),
      delta({}, 'stop'),
    ],
  ],
  'blocks, as Anthropic sends them': [
    anthropicFormat,
    [
      { type: 'message_start', message: { role: 'assistant', content: [] } },
      ...block(0, 'thinking', [
        { type: 'thinking_delta', thinking: 'Two and two.' },
        { type: 'signature_delta', signature: 'seal' },
      ]),
      ...block(1, 'text', [
        { type: 'text_delta', text: '2 + 2' },
        { type: 'text_delta', text: ' = 4' },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ],
  ],
  'events of the Responses API': [
    responsesFormat,
    [
      { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'Two and two.' },
      { type: 'response.output_text.delta', output_index: 1, delta: '2 + 2 = 4' },
      {
        type: 'response.completed',
        response: {
          output: [
            { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Two and two.' }] },
            { type: 'message', content: [{ type: 'output_text', text: '2 + 2 = 4' }] },
          ],
        },
      },
    ],
  ],
} as const

for (const [name, [{ createAggregator, parseDelta, parseResponse }, chunks]] of Object.entries(dialects))
  test(`what is shown while a model writes is what its response says: ${name}`, () => {
    const shown = { text: '', reasoning: '' }
    for (const chunk of chunks) {
      const piece = parseDelta(chunk)
      if (piece !== null) shown[piece.kind] += piece.text
    }
    const response = collected(createAggregator(10_000), chunks)
    assert.ok(response !== null)
    const { text, reasoning } = parseResponse(response)
    assert.deepEqual([shown, { text, reasoning }], Array(2).fill({ text: '2 + 2 = 4', reasoning: 'Two and two.' }))
  })
