/**
 * The tools that a session is offered do not change during the session.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentTools } from '../../src/agent/loop/agent-tools.ts'
import { createSessionToolSnapshots } from '../../src/flows/turn-tools.ts'

function toolsNamed(...names: readonly string[]): AgentTools {
  const schemas = names.map((name) => ({ name, description: '', parameters: {} }))
  return {
    schemas: () => schemas,
    canRunInParallel: () => false,
    sanitizeForModel: (text) => text,
    prepare: ({ name }) => ({ kind: 'invalid', error: names.includes(name) ? 'there' : 'not there' }),
  }
}

test('a session keeps the tool list with which it began, and a call uses the current tools', () => {
  const frozen = createSessionToolSnapshots()
  const tools = toolsNamed('a')
  const before = frozen('old', tools)
  assert.equal(frozen('old', tools), tools, 'nothing is copied while the tools stay the same')
  const after = frozen('old', toolsNamed('b'))
  assert.equal(after.schemas(), before.schemas())
  assert.deepEqual(after.prepare({ name: 'a', arguments: '{}' }), { kind: 'invalid', error: 'not there' })
  assert.deepEqual(
    frozen('new', toolsNamed('b'))
      .schemas()
      .map(({ name }) => name),
    ['b'],
  )
})
