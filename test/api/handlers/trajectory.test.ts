import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toTrajectory } from '../../../src/api/handlers/trajectory.ts'
import type { SaidMessage } from '../../../src/sessions/trajectory-messages.ts'

const said = (role: SaidMessage['role'], content: string, rest: Partial<SaidMessage> = {}): SaidMessage => ({
  ...{ role, content, tool_calls: null, tool_call_id: null, tool_name: null, provider_data: null },
  ...rest,
})
const calls = (...written: readonly string[]) =>
  JSON.stringify(written.map((text, index) => ({ id: `c${index}`, name: 'terminal', arguments: text })))

test('results of one response are one entry, JSON results are values, and failures are counted', () => {
  const { conversations, tool_stats, api_calls } = toTrajectory([
    said('user', 'look'),
    said('assistant', '', { tool_calls: calls('{"command":"ls"}', 'not json') }),
    said('tool', 'plain', { tool_call_id: 'c0', tool_name: 'terminal' }),
    said('tool', '{"error":"no"}', { tool_call_id: 'c1', tool_name: 'terminal' }),
    said('assistant', 'Done.'),
  ])
  assert.deepEqual(conversations, [
    { from: 'human', value: 'look' },
    {
      from: 'gpt',
      value:
        '<think>\n</think>\n<tool_call>\n{"name":"terminal","arguments":{"command":"ls"}}\n</tool_call>\n<tool_call>\n{"name":"terminal","arguments":{}}\n</tool_call>',
    },
    {
      from: 'tool',
      value:
        '<tool_response>\n{"tool_call_id":"c0","name":"terminal","content":"plain"}\n</tool_response>\n<tool_response>\n{"tool_call_id":"c1","name":"terminal","content":{"error":"no"}}\n</tool_response>',
    },
    { from: 'gpt', value: '<think>\n</think>\nDone.' },
  ])
  assert.deepEqual(tool_stats, { terminal: { count: 2, success: 1, failure: 1 } })
  assert.equal(api_calls, 2)
})

test('the thinking of each vendor, and that in the text, is one block before the answer', () => {
  const thinking = (items: readonly unknown[], text = 'Yes.') =>
    toTrajectory([said('assistant', text, { provider_data: JSON.stringify({ apiMode: 'x', items }) })]).conversations[0]
      ?.value
  const expected = '<think>\nHm.\n</think>\nYes.'
  assert.equal(thinking([{ reasoning_content: 'Hm.' }]), expected)
  assert.equal(
    thinking([
      { type: 'thinking', thinking: 'Hm.', signature: 'x' },
      { type: 'text', text: 'Yes.' },
    ]),
    expected,
  )
  assert.equal(thinking([{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }]), expected)
  assert.equal(thinking([], '<think>Hm.</think>\nYes.'), expected)
})

test('the text of a skill that a message has loaded is no part of it', () => {
  const loaded = '[Skill of the user: plan, in /x]\nSteps.\n\n[End of the skill plan]\n\nDo it.'
  assert.deepEqual(toTrajectory([said('user', loaded)]).conversations, [{ from: 'human', value: 'Do it.' }])
})
