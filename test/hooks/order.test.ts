/**
 * In which order hooks are asked, and how often (contract §1.3).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { command, createTestHooks, hookYaml } from './support.ts'

function returningHandler(word: string): string {
  return `let count = 0; export const handle = (event) => '${word}' + ++count`
}

test('handlers of the exact event run first, then those of the family; a hook with both runs twice', async (t) => {
  const { registry } = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['command:*']),
      'a/handler.js': returningHandler('a'),
      'b/HOOK.yaml': hookYaml(['command:*', 'command:reset']),
      'b/handler.js': returningHandler('b'),
      'c/HOOK.yaml': hookYaml(['command:new']),
      'c/handler.js': returningHandler('c'),
      'd/HOOK.yaml': hookYaml(['command:status', 'session:*']),
      'd/handler.js': returningHandler('d'),
      'e/HOOK.yaml': hookYaml(['command:*'], 'priority: -1\n'),
      'e/handler.js': returningHandler('e'),
    },
  })
  registry.discoverAndLoad()
  // `reset` is another name of `new`.
  assert.deepEqual(await registry.emitCollect('command:new', command('new', '', 'reset'), 60_000), [
    'b1',
    'c1',
    'e1',
    'a1',
    'b2',
  ])
  assert.deepEqual(await registry.emitCollect('command:status', command('status'), 60_000), ['d1', 'e2', 'a2', 'b3'])
})

test('a hook that lists an event twice runs twice', async (t) => {
  const { registry, log } = createTestHooks(t, {
    files: { 'a/HOOK.yaml': hookYaml(['command:new', 'command:new']), 'a/handler.js': returningHandler('a') },
  })
  registry.discoverAndLoad()
  assert.deepEqual(await registry.emitCollect('command:new', command('new'), 60_000), ['a1', 'a2'])
  assert.ok(log.records.some(({ fields }) => fields['event'] === 'hook.discovery_warning'))
})
