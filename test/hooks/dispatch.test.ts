/**
 * Events reach the hooks that subscribe to them, in both languages and in order, and the emitter does not wait.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  agentStart,
  command,
  createTestHooks,
  hookYaml,
  pythonSendingHandler,
  sendingHandler,
  withoutPython,
} from './support.ts'

test('a handler in JavaScript receives the events it subscribes to and no others', async (t) => {
  const hooks = createTestHooks(t, {
    files: { 'a/HOOK.yaml': hookYaml(['agent:start']), 'a/handler.js': sendingHandler() },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('gateway:startup', { platforms: [] })
  hooks.registry.emit('agent:start', agentStart('hello'))
  assert.deepEqual(await hooks.waitForSent(1), [{ hook: 'a', target: 'there', text: 'agent:start hello' }])
  await hooks.registry.waitUntilIdle(5_000)
  assert.equal(hooks.status('a').fired, 1)
})

test('the registry names what its hooks subscribe to, without the events of the gateway itself', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['gateway:startup', 'agent:*']),
      'a/handler.js': sendingHandler(),
      'b/HOOK.yaml': hookYaml(['command:new']),
      'b/handler.js': sendingHandler(),
    },
  })
  assert.deepEqual([...hooks.registry.subscribed], [])
  hooks.registry.discoverAndLoad()
  assert.deepEqual([...hooks.registry.subscribed], ['agent:*', 'command:new'])
  await hooks.registry.stop(0)
  assert.deepEqual([...hooks.registry.subscribed], [])
})

test('a handler in TypeScript may be the default export and synchronous', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['agent:start']),
      'a/handler.ts': `import type { HookEvents } from '#sdk'
        export default function handle(event: string, context: HookEvents['agent:start'], services: { gateway: { send(target: string, text: string): Promise<void> } }): void {
          void services.gateway.send('there', \`\${event} \${context.message}\`)
        }`,
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('hello'))
  assert.deepEqual(await hooks.waitForSent(1), [{ hook: 'a', target: 'there', text: 'agent:start hello' }])
})

test('handlers in Python may be synchronous or asynchronous, with two or three arguments', {
  skip: withoutPython,
}, async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['agent:start']),
      'a/handler.py': pythonSendingHandler(),
      'b/HOOK.yaml': hookYaml(['agent:start']),
      'b/handler.py':
        'def handle(event_type, context, services):\n    services.gateway.send("b", context["message"])\n',
      'c/HOOK.yaml': hookYaml(['command:new']),
      'c/handler.py': 'def handle(event_type, context):\n    return {"decision": "deny", "message": context["args"]}\n',
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('hello'))
  const sent = await hooks.waitForSent(2)
  assert.deepEqual(sent.map(({ hook, text }) => `${hook} ${text}`).sort(), ['a agent:start hello', 'b hello'])
  assert.deepEqual(await hooks.registry.emitCollect('command:new', command('new', 'why'), 5_000), [
    { decision: 'deny', message: 'why' },
  ])
})

test('a hook receives its events in order, one at a time, however long each takes', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['agent:start']),
      'a/handler.js': `let busy = false
        export async function handle(event, { message }, { gateway }) {
          if (busy) await gateway.send('there', 'two at once')
          busy = true
          await new Promise((resolve) => setTimeout(resolve, message % 3))
          busy = false
          await gateway.send('there', message)
        }`,
    },
  })
  hooks.registry.discoverAndLoad()
  const numbers = Array.from({ length: 100 }, (_, index) => String(index))
  for (const number of numbers) hooks.registry.emit('agent:start', agentStart(number))
  assert.deepEqual(
    (await hooks.waitForSent(100)).map(({ text }) => text),
    numbers,
  )
})

test('a slow hook does not delay other hooks', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'slow/HOOK.yaml': hookYaml(['agent:start'], 'timeout_ms: 60000\n'),
      'slow/handler.js': 'export const handle = () => new Promise(() => undefined)',
      'quick/HOOK.yaml': hookYaml(['agent:start']),
      'quick/handler.js': sendingHandler(),
    },
  })
  hooks.registry.discoverAndLoad()
  for (let count = 0; count < 20; count++) hooks.registry.emit('agent:start', agentStart(`${count}`))
  await hooks.waitForSent(20)
  assert.equal(hooks.status('slow').waiting, 19)
})

test('each handler receives its own copy of the context', async (t) => {
  const spoil = `export const handle = async (event, context, { gateway }) => {
    await gateway.send('there', context.message)
    context.message = 'spoilt'
    context.tools?.push('spoilt')
  }`
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['agent:start']),
      'a/handler.js': spoil,
      'b/HOOK.yaml': hookYaml(['agent:start']),
      'b/handler.js': spoil,
    },
  })
  hooks.registry.discoverAndLoad()
  const context = agentStart('clean')
  hooks.registry.emit('agent:start', context)
  assert.deepEqual(
    (await hooks.waitForSent(2)).map(({ text }) => text),
    ['clean', 'clean'],
  )
  assert.deepEqual(context, agentStart('clean'))
})

test('when a queue is full, further events are dropped and counted, and one warning is logged', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['agent:start'], 'timeout_ms: 60000\n'),
      'a/handler.js': 'export const handle = () => new Promise(() => undefined)',
    },
  })
  hooks.registry.discoverAndLoad()
  for (let count = 0; count < 1_500; count++) hooks.registry.emit('agent:start', agentStart(`${count}`))
  assert.equal(hooks.status('a').dropped, 500)
  assert.equal(hooks.status('a').waiting, 1_000)
  assert.equal(hooks.log.records.filter(({ text }) => text.includes('is too slow')).length, 1)
})

test('the results of handlers are collected in their order, without empty ones', async (t) => {
  const files = Object.fromEntries(
    ['null', '7', 'undefined', '{ decision: "allow" }', '"last"'].flatMap((value, index) => [
      [`h${index}/HOOK.yaml`, hookYaml([index === 1 ? 'command:*' : 'command:new'])],
      [`h${index}/handler.js`, `export const handle = async () => (${value})`],
    ]),
  )
  const hooks = createTestHooks(t, { files })
  hooks.registry.discoverAndLoad()
  const answers = await hooks.registry.emitCollect('command:new', command('new'), 5_000)
  assert.deepEqual(answers, [{ decision: 'allow' }, 'last', 7])
  assert.deepEqual(await hooks.registry.emitCollect('agent:start', agentStart(''), 5_000), [])
})

test('a hook that decides too late is ignored, and still receives the event', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'late/HOOK.yaml': hookYaml(['command:new']),
      'late/handler.js': `export const handle = async (event, context, { gateway, signal }) => {
        await new Promise((resolve) => setTimeout(resolve, 300))
        await gateway.send('there', 'heard')
        return { decision: 'deny' }
      }`,
      'quick/HOOK.yaml': hookYaml(['command:new']),
      'quick/handler.js': 'export const handle = () => "quick"',
    },
  })
  hooks.registry.discoverAndLoad()
  // Both are loaded by now, so that the time is the handler's own.
  await hooks.registry.emitCollect('command:new', command('new'), 5_000)
  assert.deepEqual(await hooks.registry.emitCollect('command:new', command('new'), 50), ['quick'])
  await hooks.waitForSent(2)
})

test('a subscription to an alias receives the command, whichever name was typed', async (t) => {
  const hooks = createTestHooks(t, {
    files: { 'a/HOOK.yaml': hookYaml(['command:reset']), 'a/handler.js': sendingHandler() },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('command:new', command('new', '', 'reset'))
  hooks.registry.emit('command:new', command('new'))
  await hooks.waitForSent(2)
  assert.equal(hooks.sent[0]?.text, 'command:new new')
})

test('without a hook for an event no process starts', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['agent:end']),
      'a/handler.js': sendingHandler(),
      'b/HOOK.yaml': hookYaml(['agent:start'], 'requires_file: BOOT.md\n'),
      'b/handler.js': sendingHandler(),
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('x'))
  await hooks.registry.waitUntilIdle(5_000)
  assert.deepEqual(
    hooks.registry.processes().map(({ state }) => state),
    ['idle'],
  )
  assert.equal(hooks.status('b').dropped, 0)
})

test('a hook that requires a file receives events as soon as the file exists', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['agent:start'], 'requires_file: hooks/BOOT.md\n'),
      'a/handler.js': sendingHandler(),
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('before'))
  hooks.write({ 'BOOT.md': 'boot' })
  hooks.registry.emit('agent:start', agentStart('after'))
  assert.deepEqual(
    (await hooks.waitForSent(1)).map(({ text }) => text),
    ['agent:start after'],
  )
})

test('a disabled hook is listed and receives no events', async (t) => {
  const hooks = createTestHooks(t, {
    files: { 'a/HOOK.yaml': hookYaml(['agent:start'], 'enabled: false\n'), 'a/handler.js': sendingHandler() },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('x'))
  assert.ok(await hooks.registry.waitUntilIdle(1_000))
  assert.deepEqual([hooks.status('a').state, hooks.hosts.length], ['disabled', 0])
})

test('a paused hook receives no events until it is resumed, also after a restart', async (t) => {
  const hooks = createTestHooks(t, {
    files: { 'a/HOOK.yaml': hookYaml(['agent:start']), 'a/handler.js': sendingHandler() },
  })
  hooks.registry.discoverAndLoad()
  assert.equal(hooks.registry.pause('missing'), false)
  assert.equal(hooks.registry.pause('a'), true)
  hooks.registry.emit('agent:start', agentStart('one'))
  assert.equal(hooks.status('a').state, 'paused')
  const again = createTestHooks(t, {
    files: { 'a/HOOK.yaml': hookYaml(['agent:start']), 'a/handler.js': sendingHandler() },
  })
  again.write({ '.state.json': '{"paused":["a"]}' })
  assert.equal(hooks.registry.resume('a'), true)
  hooks.registry.emit('agent:start', agentStart('two'))
  assert.deepEqual(
    (await hooks.waitForSent(1)).map(({ text }) => text),
    ['agent:start two'],
  )
})

test('a request with invalid arguments is rejected with the argument that is wrong', async (t) => {
  const hooks = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': hookYaml(['agent:start']),
      'a/handler.js': `export const handle = async (event, context, { gateway }) => {
        for (const attempt of [
          () => gateway.send('there', ''),
          () => gateway.send(7, 'x'),
          () => gateway.startAgent('x', { maxIterations: -1 }),
          () => gateway.startAgent('do it'),
        ]) await attempt().catch((error) => gateway.send('errors', error.message))
      }`,
    },
  })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart('x'))
  const errors = (await hooks.waitForSent(4)).map(({ text }) => text)
  assert.match(errors[0] ?? '', /^send: .*\btext\b/)
  assert.match(errors[1] ?? '', /^send: .*\btarget\b.*\bnumber\b/)
  assert.match(errors[2] ?? '', /^startAgent: maxIterations: /)
  assert.match(errors[3] ?? '', /^startAgent\b/)
})

test('the gateway delivers queued events before it stops, up to a time limit', async (t) => {
  const hooks = createTestHooks(t, {
    files: { 'a/HOOK.yaml': hookYaml(['agent:start']), 'a/handler.js': sendingHandler() },
  })
  hooks.registry.discoverAndLoad()
  for (let count = 0; count < 50; count++) hooks.registry.emit('agent:start', agentStart(`${count}`))
  assert.equal(await hooks.registry.waitUntilIdle(10_000), true)
  await hooks.registry.stop(0)
  assert.equal(hooks.sent.length, 50)
  hooks.registry.emit('agent:start', agentStart('too late'))
  assert.deepEqual(hooks.registry.processes(), [])
})
