/**
 * Events reach the hooks that want them, in both languages, in order, and nobody waits.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentStart, hooksWith, hookYaml, pythonTeller, teller, withoutPython } from './support.ts'

test('a handler in JavaScript hears the events it asked for and no others', async (t) => {
  const hooks = hooksWith(t, {
    files: { 'a/HOOK.yaml': hookYaml(['agent:start']), 'a/handler.js': teller() },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('gateway:startup', { platforms: [] })
  hooks.registry.emit('agent:start', agentStart('hello'))
  assert.deepEqual(await hooks.sentAfter(1), [{ hook: 'a', target: 'there', text: 'agent:start hello' }])
  await hooks.registry.settled(5_000)
  assert.equal(hooks.report('a').fired, 1)
})

test('a handler in Python hears the events it asked for', { skip: withoutPython }, async (t) => {
  const hooks = hooksWith(t, {
    files: { 'a/HOOK.yaml': hookYaml(['agent:start']), 'a/handler.py': pythonTeller() },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('hello'))
  assert.deepEqual(await hooks.sentAfter(1), [{ hook: 'a', target: 'there', text: 'agent:start hello' }])
})
