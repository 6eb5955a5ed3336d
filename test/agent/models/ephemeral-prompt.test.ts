/**
 * Text that is added to a request when it is sent follows the frozen prompt, in the format of each vendor.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildAnthropicRequest } from '../../../src/agent/models/anthropic/request.ts'
import { addEphemeralPrompt } from '../../../src/agent/models/ephemeral-prompt.ts'
import { createChatFormat } from '../../../src/agent/models/openai/chat-completions.ts'
import { responsesFormat } from '../../../src/agent/models/openai/responses.ts'
import type { RequestInput } from '../../../src/agent/models/provider.ts'

const input: RequestInput = {
  model: 'm',
  system: 'Be kind.',
  messages: [{ role: 'user', content: 'hi' }],
  tools: [],
}
const prefill = [
  { role: 'user' as const, content: 'ping' },
  { role: 'assistant' as const, content: 'pong' },
]
const ephemeral = { system: 'Be brief.', prefill }

test('Chat Completions: the text follows the system message, and the examples precede the conversation', () => {
  const { buildRequest } = createChatFormat({})
  assert.deepEqual(addEphemeralPrompt('chat_completions', buildRequest(input), ephemeral)['messages'], [
    { role: 'system', content: 'Be kind.\n\nBe brief.' },
    ...prefill,
    { role: 'user', content: 'hi' },
  ])
  const bare = addEphemeralPrompt('chat_completions', buildRequest({ ...input, system: '' }), ephemeral)
  assert.deepEqual(bare['messages'], [
    { role: 'system', content: 'Be brief.' },
    ...prefill,
    { role: 'user', content: 'hi' },
  ])
})

test('Responses: the text follows the instructions', () => {
  const request = addEphemeralPrompt('codex_responses', responsesFormat.buildRequest(input), ephemeral)
  assert.equal(request['instructions'], 'Be kind.\n\nBe brief.')
  assert.deepEqual(request['input'], [...prefill, { role: 'user', content: 'hi' }])
})

test('Anthropic: the cached block of the system prompt stays as it is', () => {
  const before = buildAnthropicRequest(input)
  const request = addEphemeralPrompt('anthropic_messages', before, ephemeral)
  const [cached] = Array.isArray(before['system']) ? before['system'] : []
  assert.deepEqual(request['system'], [cached, { type: 'text', text: 'Be brief.' }])
  assert.ok(Array.isArray(request['messages']))
  assert.deepEqual(request['messages'].slice(0, 2), prefill)
})
