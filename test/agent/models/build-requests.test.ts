/** The complete request bodies of the three wire formats. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { buildAnthropicRequest } from '../../../src/agent/models/anthropic/request.ts'
import { createProvider } from '../../../src/agent/models/create-provider.ts'
import { MISSING_TOOL_RESULT } from '../../../src/agent/models/normalize-messages.ts'
import { createChatFormat } from '../../../src/agent/models/openai/chat-completions.ts'
import { responsesFormat } from '../../../src/agent/models/openai/responses.ts'
import type { RequestInput } from '../../../src/agent/models/provider.ts'
import { asArray, asRecord } from '../../../src/lib/json.ts'
import type { ChatMessage } from '../../../src/message/transcript.ts'
import { arbitraryMessage } from './arbitrary-message.ts'

const buildChatRequest = (input: RequestInput, isOfficial: boolean) =>
  createChatFormat(isOfficial ? { maxTokensField: 'max_completion_tokens' } : {}).buildRequest(input)
const buildResponsesRequest = responsesFormat.buildRequest

const tools = [{ name: 'terminal', description: 'Runs a command.', parameters: { type: 'object' } }]
const messages: ChatMessage[] = [
  { role: 'user', content: 'List the files.' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'terminal', arguments: '{"command":"ls"}' }] },
  { role: 'tool', toolCallId: 'c1', name: 'terminal', content: 'README.md' },
  { role: 'user', content: 'Only the newest.' },
]
const input: RequestInput = { model: 'm', system: 'Be brief.', messages, tools }

test('a chat completion has null content with calls, tools as functions, and requests usage', () => {
  assert.deepEqual(buildChatRequest({ ...input, reasoningEffort: 'low', maxOutputTokens: 9 }, true), {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'List the files.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'terminal', arguments: '{"command":"ls"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '<tool_output>\nREADME.md\n</tool_output>' },
      { role: 'user', content: 'Only the newest.' },
    ],
    tools: [{ type: 'function', function: tools[0] }],
    reasoning_effort: 'low',
    max_completion_tokens: 9,
    stream: true,
    stream_options: { include_usage: true },
  })
  assert.equal(buildChatRequest({ ...input, maxOutputTokens: 9 }, false)['max_tokens'], 9)
})

test('a Responses request stores nothing and requests encrypted reasoning', () => {
  assert.deepEqual(buildResponsesRequest({ ...input, reasoningEffort: 'high', maxOutputTokens: 9 }), {
    model: 'm',
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: 'List the files.' },
      { type: 'function_call', call_id: 'c1', name: 'terminal', arguments: '{"command":"ls"}' },
      { type: 'function_call_output', call_id: 'c1', output: '<tool_output>\nREADME.md\n</tool_output>' },
      { role: 'user', content: 'Only the newest.' },
    ],
    tools: [{ type: 'function', ...tools[0], strict: false }],
    reasoning: { effort: 'high' },
    max_output_tokens: 9,
    store: false,
    include: ['reasoning.encrypted_content'],
    stream: true,
  })
})

test('a Messages request merges results with the following text and marks the system prompt and the last three messages', () => {
  const cache_control = { type: 'ephemeral' }
  const long: ChatMessage[] = [{ role: 'user', content: 'Hello' }, { role: 'assistant', content: 'Hi' }, ...messages]
  assert.deepEqual(buildAnthropicRequest({ ...input, messages: long }), {
    model: 'm',
    max_tokens: 8192,
    system: [{ type: 'text', text: 'Be brief.', cache_control }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'user', content: [{ type: 'text', text: 'List the files.', cache_control }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'c1', name: 'terminal', input: { command: 'ls' }, cache_control }],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: '<tool_output>\nREADME.md\n</tool_output>' },
          { type: 'text', text: 'Only the newest.', cache_control },
        ],
      },
    ],
    tools: [{ name: 'terminal', description: 'Runs a command.', input_schema: { type: 'object' } }],
    stream: true,
  })
})

test('signed thinking gets no cache breakpoint', () => {
  const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
  const kept: ChatMessage = {
    role: 'assistant',
    content: 'Hi',
    providerData: { apiMode: 'anthropic_messages', items: [{ type: 'text', text: 'Hi' }, thinking] },
  }
  const request = buildAnthropicRequest({ ...input, messages: [{ role: 'user', content: 'Hello' }, kept] })
  const content = asArray(asRecord(asArray(request['messages'])[1])['content'])
  assert.deepEqual(content[1], thinking)
  assert.ok('cache_control' in asRecord(content[0]))
})

test('items of the vendor are dropped when the transcript has changed', () => {
  const changed = (apiMode: string, items: unknown[]): ChatMessage[] => [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'changed by a plugin', providerData: { apiMode, items } },
  ]
  const claude = changed('anthropic_messages', [
    { type: 'thinking', thinking: 'x', signature: 'seal' },
    { type: 'text', text: 'Hi' },
  ])
  assert.doesNotMatch(JSON.stringify(buildAnthropicRequest({ ...input, messages: claude })), /seal/)
  const gpt = changed('codex_responses', [
    { type: 'reasoning', encrypted_content: 'seal' },
    { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] },
  ])
  assert.doesNotMatch(JSON.stringify(buildResponsesRequest({ ...input, messages: gpt })), /seal/)
})

test('reasoning without encrypted content is not sent', () => {
  const items = [
    { type: 'reasoning', id: 'rs_1' },
    { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] },
  ]
  const history: ChatMessage[] = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi', providerData: { apiMode: 'codex_responses', items } },
  ]
  assert.doesNotMatch(JSON.stringify(buildResponsesRequest({ ...input, messages: history })), /rs_1/)
})

test('signatures of tool calls are sent with their call', () => {
  const history: ChatMessage[] = [
    { role: 'user', content: 'Hello' },
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c1', name: 'terminal', arguments: '{}' }],
      providerData: {
        apiMode: 'chat_completions',
        items: [{ tool_calls: [{ id: 'c1', extra_content: { sign: 'x' } }] }],
      },
    },
  ]
  const request = buildChatRequest({ ...input, messages: history }, false)
  const call = asArray(asRecord(asArray(request['messages'])[2])['tool_calls'])[0]
  assert.deepEqual(call, {
    extra_content: { sign: 'x' },
    id: 'c1',
    type: 'function',
    function: { name: 'terminal', arguments: '{}' },
  })
})

test('Anthropic gets old calls as text when the request has no tools', () => {
  const request = buildAnthropicRequest({ ...input, tools: [] })
  const text = JSON.stringify(request['messages'])
  assert.doesNotMatch(text, /tool_use|tool_result/)
  assert.match(text, /terminal.*\bls\b.*terminal.*README\.md/)
})

test('Anthropic gets a first message of the user and no empty text', () => {
  const request = buildAnthropicRequest({
    ...input,
    system: ' ',
    messages: [
      { role: 'assistant', content: 'Hi' },
      { role: 'user', content: ' ' },
    ],
  })
  assert.equal('system' in request, false)
  assert.deepEqual(
    asArray(request['messages']).map((message) => [
      asRecord(message)['role'],
      asRecord(asArray(asRecord(message)['content'])[0])['text'],
    ]),
    [
      ['user', '(no text)'],
      ['assistant', 'Hi'],
      ['user', '(no text)'],
    ],
  )
})

test('the effort is a token budget for models up to 4.5 and a level for later ones', () => {
  const fields = (model: string, reasoningEffort: RequestInput['reasoningEffort']) => {
    const { thinking, output_config, max_tokens } = buildAnthropicRequest({
      ...input,
      model,
      ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
      messages: [{ role: 'user', content: 'x' }],
    })
    return { thinking, output_config, max_tokens }
  }
  const none = { thinking: undefined, output_config: undefined, max_tokens: 8192 }
  for (const model of [
    'claude-sonnet-4-5',
    'claude-opus-4-1',
    'claude-sonnet-4-20250514',
    'claude-haiku-4-5-20251001',
    'claude-3-7-sonnet-latest',
  ]) {
    assert.deepEqual(
      fields(model, 'low'),
      { ...none, thinking: { type: 'enabled', budget_tokens: 4096 }, max_tokens: 12_288 },
      model,
    )
    assert.deepEqual(fields(model, 'none'), none)
  }
  for (const model of [
    'claude-opus-4-6',
    'claude-opus-4-8',
    'claude-sonnet-5',
    'claude-opus-5-5',
    'claude-mythos-preview',
  ]) {
    assert.deepEqual(
      fields(model, 'minimal'),
      { ...none, thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
      model,
    )
  }
  assert.deepEqual(fields('claude-opus-4-6', 'xhigh').output_config, { effort: 'high' })
  assert.deepEqual(fields('claude-opus-5', 'xhigh').output_config, { effort: 'xhigh' })
  assert.deepEqual(fields('claude-opus-4-6', 'max').output_config, { effort: 'max' })
  assert.deepEqual(fields('claude-opus-4-8', 'none'), none)
  assert.deepEqual(fields('claude-sonnet-5-5', 'none'), { ...none, output_config: { effort: 'low' } })
  assert.deepEqual(fields('claude-sonnet-5-5', undefined), none)
})

test('the effort is a switch where the vendor has one', () => {
  const fields = (provider: string, reasoningEffort: NonNullable<RequestInput['reasoningEffort']>) => {
    const created = createProvider({ provider, model: 'm', baseUrl: '', apiKey: 'k', variables: {} })
    assert.ok('provider' in created)
    const { thinking, reasoning_effort } = created.provider.buildRequest({ ...input, messages, reasoningEffort })
    return { thinking, reasoning_effort }
  }
  const enabled = { type: 'enabled' }
  assert.deepEqual(fields('deepseek', 'none'), { thinking: { type: 'disabled' }, reasoning_effort: undefined })
  assert.deepEqual(fields('deepseek', 'minimal'), { thinking: enabled, reasoning_effort: 'low' })
  assert.deepEqual(fields('deepseek', 'max'), { thinking: enabled, reasoning_effort: 'max' })
  assert.deepEqual(fields('zai', 'high'), { thinking: enabled, reasoning_effort: undefined })
  assert.deepEqual(fields('kimi', 'high'), { thinking: undefined, reasoning_effort: undefined })
})

test('reasoning that is shown is asked for where the vendor gives it only on demand', () => {
  const claude = (model: string, more: Partial<RequestInput>) =>
    buildAnthropicRequest({ ...input, model, messages, ...more })['thinking']
  const shown = { showsReasoning: true }
  const summarized = { type: 'adaptive', display: 'summarized' }
  assert.deepEqual(claude('claude-sonnet-5', shown), summarized)
  assert.deepEqual(claude('claude-opus-4-7', { ...shown, reasoningEffort: 'high' }), summarized)
  assert.deepEqual(claude('claude-opus-4-6', { ...shown, reasoningEffort: 'high' }), { type: 'adaptive' })
  assert.equal(claude('claude-opus-4-7', shown), undefined)
  const gpt = (more: Partial<RequestInput>) => buildResponsesRequest({ ...input, messages, ...more })['reasoning']
  assert.deepEqual(gpt({ ...shown, reasoningEffort: 'high' }), { effort: 'high', summary: 'auto' })
  assert.deepEqual(gpt(shown), { summary: 'auto' })
  assert.deepEqual(gpt({ ...shown, reasoningEffort: 'none' }), { effort: 'none' })
})

test('manual thinking stays off during tool calls that began without it', () => {
  const request = buildAnthropicRequest({
    ...input,
    model: 'claude-sonnet-4-5',
    reasoningEffort: 'high',
    messages: messages.slice(0, 3),
  })
  assert.equal('thinking' in request, false)
})

test('any history gives a request that is valid for Anthropic', () => {
  fc.assert(
    fc.property(fc.array(arbitraryMessage, { maxLength: 12 }), fc.boolean(), (history, withTools) => {
      const request = buildAnthropicRequest({ ...input, messages: history, tools: withTools ? tools : [] })
      const built = asArray(request['messages']).map(asRecord)
      assert.equal(built[0]?.['role'], 'user')
      let open: unknown[] = []
      for (const [at, message] of built.entries()) {
        if (at > 0) assert.notEqual(message['role'], built[at - 1]?.['role'])
        const blocks = asArray(message['content']).map(asRecord)
        assert.ok(blocks.length > 0)
        const results = blocks.filter((block) => block['type'] === 'tool_result').map((block) => block['tool_use_id'])
        if (message['role'] === 'user') assert.deepEqual(results, open)
        open = blocks.filter((block) => block['type'] === 'tool_use').map((block) => block['id'])
        for (const block of blocks) if (block['type'] === 'text') assert.notEqual(String(block['text']).trim(), '')
      }
      assert.deepEqual(open, [])
      assert.ok(JSON.stringify(built).split('"cache_control"').length - 1 <= 3)
    }),
    { numRuns: 300, seed: 13 },
  )
})

test('every vendor gets a stub for a missing result', () => {
  const history = messages.slice(0, 2)
  for (const build of [
    buildResponsesRequest,
    buildAnthropicRequest,
    (given: RequestInput) => buildChatRequest(given, true),
  ]) {
    assert.ok(
      JSON.stringify(build({ ...input, messages: history })).includes(JSON.stringify(MISSING_TOOL_RESULT).slice(1, -1)),
    )
  }
})

test('adjacent messages of one role stay apart in every format', () => {
  const adjacent: RequestInput = {
    model: 'm',
    system: '',
    tools: [],
    messages: [
      { role: 'user', content: 'first' },
      { role: 'user', content: 'second' },
      { role: 'assistant', content: 'third' },
      { role: 'assistant', content: 'fourth' },
      { role: 'user', content: 'fifth' },
    ],
  }
  assert.deepEqual(
    asArray(buildAnthropicRequest(adjacent)['messages']).map((message) =>
      asArray(asRecord(message)['content']).map((block) => asRecord(block)['text']),
    ),
    [['first', 'second'], ['third', 'fourth'], ['fifth']],
  )
  assert.deepEqual(
    asArray(buildResponsesRequest(adjacent)['input']).map((item) => asRecord(item)['content']),
    ['first', 'second', 'third', 'fourth', 'fifth'],
  )
  assert.deepEqual(
    asArray(buildChatRequest(adjacent, true)['messages']).map((message) => asRecord(message)['content']),
    ['first\n\n[Next message]\n\nsecond', 'third\n\n[Next message]\n\nfourth', 'fifth'],
  )
})
