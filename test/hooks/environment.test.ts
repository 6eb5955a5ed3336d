/**
 * What handlers see of the environment, and which of them share a process.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentStart, createTestHooks, hookYaml, withoutPython } from './support.ts'

const sendEnvironmentHandler = `export const handle = async (e, c, { gateway }) =>
  gateway.send('there', Object.entries(process.env).map(([name, value]) => name + '=' + value).sort().join('\\n'))`
const start = ['agent:start']

test('a hook that declares no variables gets all of them, including .env', async (t) => {
  const hooks = createTestHooks(t, {
    environment: { TELEGRAM_BOT_TOKEN: 'secret' },
    files: { 'a/HOOK.yaml': hookYaml(start), 'a/handler.js': sendEnvironmentHandler },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('x'))
  const [sent] = await hooks.waitForSent(1)
  assert.match(sent?.text ?? '', /TELEGRAM_BOT_TOKEN=secret/)
  assert.match(sent?.text ?? '', new RegExp(`HERMES_HOME=${hooks.home}`))
})

test('a hook that declares variables gets only those and basic ones, in a process of its own', async (t) => {
  const hooks = createTestHooks(t, {
    environment: { TELEGRAM_BOT_TOKEN: 'secret', WORD: 'known', OTHER: 'x' },
    files: {
      'a/HOOK.yaml': hookYaml(start, 'env: [WORD, NOT_SET]\n'),
      'a/handler.js': sendEnvironmentHandler,
      'b/HOOK.yaml': hookYaml(start),
      'b/handler.js': sendEnvironmentHandler,
      'c/HOOK.yaml': hookYaml(start, 'env: []\n'),
      'c/handler.js': sendEnvironmentHandler,
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('x'))
  await hooks.waitForSent(3)
  const names = (hook: string) => {
    const text = hooks.sent.find((one) => one.hook === hook)?.text ?? ''
    return text.split('\n').map((pair) => pair.split('=')[0])
  }
  assert.deepEqual(names('a'), ['HERMES_HOME', 'HOME', 'PATH', 'WORD'])
  assert.deepEqual(names('c'), ['HERMES_HOME', 'HOME', 'PATH'])
  assert.ok(names('b').includes('TELEGRAM_BOT_TOKEN'))
  assert.deepEqual(
    hooks.registry
      .processes()
      .map(({ name }) => name)
      .sort(),
    ['node', 'node: a', 'node: c'],
  )
})

test('with hooks.env: declared, hooks without declared variables get only basic ones and share a process', async (t) => {
  const hooks = createTestHooks(t, {
    settings: { env: 'declared' },
    environment: { TELEGRAM_BOT_TOKEN: 'secret' },
    files: {
      'a/HOOK.yaml': hookYaml(start),
      'a/handler.js': sendEnvironmentHandler,
      'b/HOOK.yaml': hookYaml(start),
      'b/handler.js': sendEnvironmentHandler,
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('x'))
  for (const { text } of await hooks.waitForSent(2)) assert.doesNotMatch(text, /secret/)
  assert.equal(hooks.registry.processes().length, 1)
})

test('hooks of each language have a process of their own', { skip: withoutPython }, async (t) => {
  const hooks = createTestHooks(t, {
    environment: { WORD: 'known', SECRET: 'x' },
    files: {
      'a/HOOK.yaml': hookYaml(start, 'env: WORD\n'),
      'a/handler.py':
        'import os\ndef handle(event_type, context, services):\n    services.gateway.send("there", " ".join(sorted(os.environ)))\n',
      'b/HOOK.yaml': hookYaml(start),
      'b/handler.js': sendEnvironmentHandler,
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('x'))
  await hooks.waitForSent(2)
  const python = hooks.sent.find(({ hook }) => hook === 'a')?.text ?? ''
  assert.match(python, /\bWORD\b/)
  assert.doesNotMatch(python, /SECRET/)
})
