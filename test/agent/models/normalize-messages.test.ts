import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MISSING_TOOL_RESULT, normalizeMessages } from '../../../src/agent/models/normalize-messages.ts'
import type { ChatMessage, ToolCall } from '../../../src/message/transcript.ts'
import { toJsonValue } from '../../kit/to-json-value.ts'
import { arbitraryMessage } from './arbitrary-message.ts'

const order = (...messages: ChatMessage[]) => toJsonValue(normalizeMessages(messages, 'chat_completions'))
const user = (content: string): ChatMessage => ({ role: 'user', content })
const call = (id: string, args = '{}', name = 'terminal'): ToolCall => ({ id, name, arguments: args })
const assistant = (content: string, ...toolCalls: ToolCall[]): ChatMessage => ({
  role: 'assistant',
  content,
  toolCalls,
})
const result = (toolCallId: string, content: string): ChatMessage => ({
  role: 'tool',
  toolCallId,
  name: 'terminal',
  content,
})

test('adjacent messages of the same role stay separate texts of one message', () => {
  assert.deepEqual(order(user('a'), user('b'), assistant('c'), assistant('d'), user('e')), [
    { role: 'user', texts: ['a', 'b'] },
    { role: 'assistant', texts: ['c', 'd'], calls: [], items: [] },
    { role: 'user', texts: ['e'] },
  ])
})

test('a call without a result gets a stub, and a result without a call is removed', () => {
  const turns = order(
    user('a'),
    assistant('', call('1'), call('2')),
    result('2', 'two'),
    result('9', 'stray'),
    user('b'),
  )
  assert.deepEqual(turns[2], {
    role: 'results',
    results: [
      { id: '1', name: 'terminal', text: MISSING_TOOL_RESULT },
      { id: '2', name: 'terminal', text: '<tool_output>\ntwo\n</tool_output>' },
    ],
  })
  assert.deepEqual(order(result('1', 'stray'), user('a')), [{ role: 'user', texts: ['a'] }])
})

test('a user message between two results moves after them', () => {
  const turns = order(
    user('a'),
    assistant('', call('1'), call('2')),
    result('1', 'one'),
    user('wait'),
    result('2', 'two'),
  )
  assert.deepEqual(
    turns.map((turn) => turn.role),
    ['user', 'assistant', 'results', 'user'],
  )
})

test('an assistant message without content is removed', () => {
  assert.deepEqual(order(user('a'), assistant(' \n'), user('b')), [{ role: 'user', texts: ['a', 'b'] }])
})

test('arguments that are not a JSON object are wrapped into one, and valid ones keep their bytes', () => {
  const turns = order(
    user('a'),
    assistant('', call('1', '{ "a" : 1 }'), call('2', '{"a"'), call('3', '[1]'), call('4', '')),
  )
  const calls = turns[1]?.role === 'assistant' ? turns[1].calls : []
  assert.deepEqual(
    calls.map((entry) => [entry.arguments, entry.input]),
    [
      ['{ "a" : 1 }', { a: 1 }],
      ['{"malformed_arguments":"{\\"a\\""}', { malformed_arguments: '{"a"' }],
      ['{"malformed_arguments":"[1]"}', { malformed_arguments: '[1]' }],
      ['{}', {}],
    ],
  )
})

test('missing and repeated ids become unique, and results follow their calls', () => {
  const turns = order(
    user('a'),
    assistant('', call('call_0'), call('')),
    result('call_0', 'first'),
    assistant('', call('call_0')),
    result('call_0', 'second'),
  )
  assert.deepEqual(
    turns.flatMap((turn) => (turn.role === 'results' ? turn.results.map((entry) => [entry.id, entry.text]) : [])),
    [
      ['call_0', '<tool_output>\nfirst\n</tool_output>'],
      ['call', MISSING_TOOL_RESULT],
      ['call_0_2', '<tool_output>\nsecond\n</tool_output>'],
    ],
  )
})

test('names and texts that vendors reject are repaired', () => {
  const turns = order(
    user('half \ud83d'),
    assistant('', call('1', '{"a":"\\ud83d"}', 'my tool.v2'), call('2', '{}', '')),
  )
  assert.deepEqual(turns[0], { role: 'user', texts: ['half \ufffd'] })
  const calls = turns[1]?.role === 'assistant' ? turns[1].calls : []
  assert.deepEqual(
    calls.map((entry) => [entry.name, entry.input]),
    [
      ['my_tool_v2', { a: '\ufffd' }],
      ['unknown', {}],
    ],
  )
})

test('items of another API mode are removed', () => {
  const message: ChatMessage = {
    role: 'assistant',
    content: 'x',
    providerData: { apiMode: 'anthropic_messages', items: [1] },
  }
  assert.deepEqual(order(message), [{ role: 'assistant', texts: ['x'], calls: [], items: [] }])
})

test('any history gets a strict order with one result for each call', () => {
  fc.assert(
    fc.property(fc.array(arbitraryMessage, { maxLength: 12 }), (messages) => {
      const turns = normalizeMessages(messages, 'chat_completions')
      const ids = new Set<string>()
      for (const [at, turn] of turns.entries()) {
        const before = turns[at - 1]
        if (turn.role === 'results') {
          assert.ok(before?.role === 'assistant')
          assert.deepEqual(
            turn.results.map((entry) => entry.id),
            before.calls.map((entry) => entry.id),
          )
        } else {
          assert.notEqual(turn.role, before?.role)
          if (before?.role === 'assistant') assert.deepEqual(before.calls, [])
        }
        if (turn.role !== 'assistant') continue
        for (const entry of turn.calls) {
          assert.ok(entry.id !== '' && !ids.has(entry.id))
          ids.add(entry.id)
          assert.deepEqual(JSON.parse(entry.arguments), JSON.parse(JSON.stringify(entry.input)))
        }
      }
    }),
    { numRuns: 300, seed: 11 },
  )
})
