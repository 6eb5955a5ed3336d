/**
 * A handler that misbehaves affects no other: it is reported and cancelled, and tripped after repeated failures.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  agentStart,
  createTestHooks,
  hookYaml,
  python,
  pythonSendingHandler,
  sendingHandler,
  withoutPython,
} from './support.ts'

/** Long, because on a busy machine the start of a process alone may take 300 ms. */
const start = hookYaml(['agent:start'], 'timeout_ms: 60000\n')

/** Beside a well-behaved one, which must hear everything that is emitted while the other is not busy dying. */
const misbehaviours: Readonly<Record<string, string>> = {
  throws: 'throw new Error("broken")',
  'rejects without being awaited': 'void Promise.reject(new Error("leaked")); throw new Error("broken")',
  hangs: 'await new Promise(() => undefined)',
  'ends its process': 'process.exit(3)',
  'kills its process': 'process.kill(process.pid, "SIGKILL"); await new Promise(() => undefined)',
  'spins for ever': 'for (;;);',
  'prints megabytes and throws': 'console.log("x".repeat(3_000_000)); throw new Error("broken")',
  'takes all the memory': 'const all = []; for (;;) all.push(new Array(100_000).fill(all.length))',
  'returns what is no JSON': 'return { loop: 10n }',
  'writes into the pipe of the protocol':
    '(await import("node:fs")).writeSync(4, "garbage\\n"); await new Promise(() => undefined)',
}

for (const [what, body] of Object.entries(misbehaviours)) {
  test(`a handler that ${what} is disabled after three failures, and other hooks keep running`, async (t) => {
    const hooks = createTestHooks(t, {
      limits: { memoryMb: 48 },
      files: {
        'bad/HOOK.yaml': hookYaml(['command:new'], 'timeout_ms: 300\n'),
        'bad/handler.js': `export const handle = async () => {\n${body}\n}`,
        'good/HOOK.yaml': start,
        'good/handler.js': sendingHandler(),
      },
    })
    hooks.registry.discoverAndLoad()
    const context = { platform: 'fake', user_id: 'ada', command: 'new', args: '', raw_command: 'new', raw_args: '' }
    for (let attempt = 1; attempt <= 4; attempt++) {
      assert.deepEqual(await hooks.registry.emitCollect('command:new', context, 60_000), [])
      hooks.registry.emit('agent:start', agentStart(`${attempt}`))
      await hooks.waitForSent(attempt)
      // It has sent, but has it ended? What takes its process along now would count as its failure.
      await hooks.registry.waitUntilIdle(20_000)
    }
    const { state, fired, failed, dropped, lastError } = hooks.status('bad')
    assert.equal(state, 'tripped')
    assert.deepEqual([fired, failed, dropped], [3, 3, 1])
    assert.equal(lastError?.event, 'command:new')
    assert.equal(hooks.status('good').state, 'ready')
    assert.equal(hooks.status('good').failed, 0)
  })
}

test('a hook that has ended its process twice gets a process of its own', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'bad/HOOK.yaml': hookYaml(['command:new']),
      'bad/handler.js': 'export const handle = () => process.exit(1)',
      'good/HOOK.yaml': start,
      'good/handler.js': sendingHandler(),
    },
  })
  hooks.registry.discoverAndLoad()
  const context = { platform: 'fake', user_id: 'ada', command: 'new', args: '', raw_command: 'new', raw_args: '' }
  for (let attempt = 0; attempt < 2; attempt++) await hooks.registry.emitCollect('command:new', context, 60_000)
  await hooks.log.waitForEvent('hook.isolated')
  hooks.registry.emit('agent:start', agentStart('x'))
  await hooks.waitForSent(1)
  assert.deepEqual(
    hooks.registry
      .processes()
      .map(({ name }) => name)
      .sort(),
    ['node', 'node: bad'],
  )
  assert.equal(hooks.status('bad').kills, 2)
})

test('calls of others that were in flight at a kill count as failed and are not repeated', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'victim/HOOK.yaml': hookYaml(['agent:start'], 'timeout_ms: 60000\n'),
      'victim/handler.js': `export const handle = async (event, context, { gateway }) => {
        await gateway.send('there', context.message)
        if (context.message === 'first') await new Promise(() => undefined)
      }`,
      'bad/HOOK.yaml': hookYaml(['command:new']),
      'bad/handler.js': 'export const handle = () => process.exit(1)',
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('first'))
  await hooks.waitForSent(1)
  const context = { platform: 'fake', user_id: 'ada', command: 'new', args: '', raw_command: 'new', raw_args: '' }
  await hooks.registry.emitCollect('command:new', context, 60_000)
  hooks.registry.emit('agent:start', agentStart('second'))
  await hooks.waitForSent(2)
  await hooks.registry.waitUntilIdle(10_000)
  assert.deepEqual(
    hooks.sent.map(({ text }) => text),
    ['first', 'second'],
  )
  const { failed, kills, state } = hooks.status('victim')
  assert.deepEqual([failed, kills, state], [1, 0, 'ready'])
})

test('a success resets the number of consecutive failures', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': start,
      'a/handler.js': `export const handle = (event, { message }) => { if (message !== 'fine') throw new Error('broken') }`,
    },
  })
  hooks.registry.discoverAndLoad()
  for (const message of ['x', 'x', 'fine', 'x', 'x']) hooks.registry.emit('agent:start', agentStart(message))
  await hooks.registry.waitUntilIdle(10_000)
  assert.deepEqual([hooks.status('a').state, hooks.status('a').failed], ['ready', 4])
})

test('a tripped hook can be resumed by a user', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': start,
      'a/handler.js': `export const handle = async (event, { message }, { gateway }) => {
        if (message === 'bad') throw new Error('broken')
        await gateway.send('there', message)
      }`,
    },
  })
  hooks.registry.discoverAndLoad()
  for (let count = 0; count < 5; count++) hooks.registry.emit('agent:start', agentStart('bad'))
  await hooks.registry.waitUntilIdle(10_000)
  assert.deepEqual([hooks.status('a').state, hooks.status('a').dropped], ['tripped', 2])
  hooks.registry.resume('a')
  hooks.registry.emit('agent:start', agentStart('good'))
  await hooks.waitForSent(1)
  assert.equal(hooks.status('a').state, 'ready')
})

test('a handler that cannot be loaded is reported with the location of the error at the first event', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': start,
      'a/handler.ts': 'export const handle = () => {\n  const x: = 1\n}\n',
      'b/HOOK.yaml': start,
      'b/handler.js': 'export const other = () => undefined',
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('x'))
  await hooks.registry.waitUntilIdle(10_000)
  assert.match(hooks.status('a').reason, /handler\.ts:2.*\(hosts\/unloadable\)$/s)
  assert.match(hooks.status('b').reason, /handler\.js.*\bhandle\b.*\(hosts\/unloadable\)$/)
  assert.equal(hooks.status('a').state, 'not-loaded')
})

test('handlers in Python that exit, hang or throw are disabled; other hooks keep running', {
  skip: withoutPython,
}, async (t) => {
  const bad = (body: string) => `import os, sys, time\ndef handle(event_type, context):\n    ${body}\n`
  const hooks = createTestHooks(t, {
    files: {
      'exits/HOOK.yaml': hookYaml(['command:new']),
      'exits/handler.py': bad('os._exit(3)'),
      'throws/HOOK.yaml': hookYaml(['command:status']),
      'throws/handler.py': bad('raise ValueError("broken")'),
      'good/HOOK.yaml': start,
      'good/handler.py': pythonSendingHandler(),
    },
  })
  hooks.registry.discoverAndLoad()
  const context = { platform: 'fake', user_id: 'ada', command: '', args: '', raw_command: '', raw_args: '' }
  for (let attempt = 1; attempt <= 3; attempt++) {
    await hooks.registry.emitCollect('command:new', context, 60_000)
    await hooks.registry.emitCollect('command:status', context, 60_000)
    hooks.registry.emit('agent:start', agentStart(`${attempt}`))
    await hooks.waitForSent(attempt)
    await hooks.registry.waitUntilIdle(20_000)
  }
  assert.equal(hooks.status('exits').state, 'tripped')
  assert.match(hooks.status('throws').lastError?.text ?? '', /ValueError: broken/)
  assert.deepEqual([hooks.status('good').state, hooks.status('good').failed], ['ready', 0])
})

test('without Python its hooks are unavailable and other hooks run', async (t) => {
  const hooks = createTestHooks(t, {
    settings: { python: '/nowhere/python3' },
    files: {
      'a/HOOK.yaml': start,
      'a/handler.py': pythonSendingHandler(),
      'b/HOOK.yaml': start,
      'b/handler.js': sendingHandler(),
    },
  })
  hooks.registry.discoverAndLoad()
  for (let count = 0; count < 5; count++) hooks.registry.emit('agent:start', agentStart('x'))
  await hooks.waitForSent(5)
  await hooks.registry.waitUntilIdle(10_000)
  assert.equal(hooks.status('a').state, 'unavailable')
  assert.match(hooks.status('a').reason, /nowhere/)
  assert.deepEqual([hooks.status('a').fired, hooks.status('a').dropped], [1, 4])
})

test('when Python is available again, its hooks run again', { skip: withoutPython }, async (t) => {
  let now = 1_000
  const hooks = createTestHooks(t, {
    settings: { python: '/nowhere/python3' },
    clock: () => now,
    files: { 'a/HOOK.yaml': start, 'a/handler.py': pythonSendingHandler() },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('lost'))
  await hooks.registry.waitUntilIdle(10_000)
  hooks.settings.hooks = { ...hooks.settings.hooks, python: python ?? 'python3' }
  hooks.registry.applyConfig()
  now += 60_000
  hooks.registry.emit('agent:start', agentStart('heard'))
  assert.deepEqual(
    (await hooks.waitForSent(1)).map(({ text }) => text),
    ['agent:start heard'],
  )
})
