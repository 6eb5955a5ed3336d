/**
 * What `clarify` asks of what the model wrote.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFacts } from '../../../src/agent/tools/built-in-tools.ts'
import { clarifyTool } from '../../../src/agent/tools/clarify.ts'
import { bindTool } from '../../../src/agent/tools/registry.ts'
import { testToolContext } from '../in-memory-deps.ts'

test('of more than four choices the first four are offered, and the model learns which', async () => {
  const offered: unknown[] = []
  const bound = bindTool(withFacts(clarifyTool))
  const parsed = bound.parse(JSON.stringify({ question: 'Which?', choices: ['a', 'b', 'c', ' d ', 'e', 'f'] }))
  assert.ok(parsed.ok)
  const result = await parsed.call.run({
    ...testToolContext({ id: 'c', name: 'clarify', arguments: '{}' }, new AbortController().signal),
    askUser: async ({ choices }) => {
      offered.push(...choices)
      return { kind: 'answered', response: 'b' }
    },
  })
  assert.deepEqual(offered, ['a', 'b', 'c', 'd'])
  assert.deepEqual(JSON.parse(String(result)).choices_offered, ['a', 'b', 'c', 'd'])
  assert.deepEqual(bound.schema.parameters['properties'], {
    question: { type: 'string' },
    choices: { type: 'array', items: { type: 'string' }, maxItems: 4 },
    multi_select: { type: 'boolean' },
  })
})
