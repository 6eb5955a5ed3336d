/**
 * What `clarify` asks of what the model wrote.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFacts } from '../../../src/agent/tools/built-in-tools.ts'
import { type AskUser, createClarifyTool } from '../../../src/agent/tools/clarify.ts'
import { bindTool } from '../../../src/agent/tools/registry.ts'
import { testToolContext } from '../in-memory-deps.ts'

test('of more than four choices the first four are offered, and the model learns which', async () => {
  const offered: unknown[] = []
  const askUser: AskUser = async ({ choices }) => {
    offered.push(...choices)
    return { kind: 'answered', response: 'b' }
  }
  const bound = bindTool(withFacts(createClarifyTool({ askUserOf: () => askUser })))
  const parsed = bound.parse(JSON.stringify({ question: 'Which?', choices: ['a', 'b', 'c', ' d ', 'e', 'f'] }))
  assert.ok(parsed.ok)
  const call = { id: 'c', name: 'clarify', arguments: '{}' }
  const result = await parsed.call.run(testToolContext(call, new AbortController().signal))
  assert.deepEqual(offered, ['a', 'b', 'c', 'd'])
  assert.deepEqual(JSON.parse(String(result)).choices_offered, ['a', 'b', 'c', 'd'])
  assert.deepEqual(bound.schema.parameters['properties'], {
    question: { type: 'string' },
    choices: { type: 'array', items: { type: 'string' }, maxItems: 4 },
    multi_select: { type: 'boolean' },
  })
})
