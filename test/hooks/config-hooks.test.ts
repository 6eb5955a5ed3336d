/**
 * Hooks that stand in config.yaml: programs that are run and addresses that are told.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { hooksConfig } from '../../src/hooks/config.ts'
import { writeConsents } from '../../src/hooks/consent.ts'
import { splitShellWords } from '../../src/hooks/shell-words.ts'
import { agentStart, command, createTestHooks, type HooksUnderTest } from './support.ts'

/** Programs are written in Node, so that they say the same everywhere. */
function program(hooks: HooksUnderTest, name: string, body: string): string {
  const file = join(hooks.home, name)
  writeFileSync(file, `#!${process.execPath}\n${body}\n`)
  chmodSync(file, 0o755)
  return file
}

function withCommand(t: TestContext, event: string, body: string, more: Readonly<Record<string, unknown>> = {}) {
  const hooks = createTestHooks(t, {})
  hooks.settings.hooks = {
    ...hooks.settings.hooks,
    [event]: [{ command: `'${program(hooks, 'hook.js', body)}'`, timeout: 10, ...more }],
  }
  hooks.registry.discoverAndLoad()
  return hooks
}

const collectDecisions = (hooks: HooksUnderTest, name = 'new') =>
  hooks.registry.emitCollect(`command:${name}`, command(name, 'a "b" $HOME'), 20_000)

test('a command line is split as a shell does, without any other shell syntax', () => {
  const words: readonly [string, readonly string[] | undefined][] = [
    ['./notify.sh --fast', ['./notify.sh', '--fast']],
    ['a "b c" \'d "e\' f\\ g ""', ['a', 'b c', 'd "e', 'f g', '']],
    ['a "b\\"c\\d\\\\"', ['a', 'b"c\\d\\']],
    ['echo $HOME | `id` ; rm *', ['echo', '$HOME', '|', '`id`', ';', 'rm', '*']],
    ['  spaced\tout\n', ['spaced', 'out']],
    ['', undefined],
    ['a "b', undefined],
    ["a 'b", undefined],
    ['a \\', undefined],
    ['"" b', undefined],
  ]
  for (const [text, expected] of words) assert.deepEqual(splitShellWords(text), expected, text)
})

test('each invalid key of a program says what is expected', () => {
  const programs = [{ command: 'a', fail_closed: 'ja', timeout: 999 }, { command: 7, matcher: 5 }, 'a']
  const { error } = hooksConfig.hooks.safeParse({ pre_tool_call: programs })
  assert.equal(error?.issues.length, 5)
  for (const { message } of error.issues) assert.match(message, /^expected (?!.*received)/)
})

test('a program receives the event as JSON and is started without a shell', async (t) => {
  const hooks = withCommand(
    t,
    'agent:start',
    `let text = ''; process.stdin.on('data', (part) => { text += part }).on('end', () => {
       require('node:fs').writeFileSync('heard.json', text) })`,
  )
  hooks.registry.emit('agent:start', agentStart('$(touch evil) `touch evil`'))
  await hooks.registry.waitUntilIdle(20_000)
  const heard = JSON.parse(readFileSync(join(hooks.home, 'heard.json'), 'utf8'))
  assert.deepEqual(
    [heard.hook_event_name, heard.tool_name, heard.session_id, heard.cwd, heard.extra.message],
    ['agent:start', null, 's1', hooks.home, '$(touch evil) `touch evil`'],
  )
  assert.ok(!existsSync(join(hooks.home, 'evil')))
  const { kind, state, fired, failed, origin } = hooks.status('agent:start/hook.js')
  assert.deepEqual([kind, state, fired, failed, origin], ['command', 'ready', 1, 0, 'config'])
})

test('a program denies a command by its exit code, or in either form of JSON', async (t) => {
  for (const [body, message] of [
    ['process.stderr.write("not now"); process.exitCode = 2', 'not now'],
    ['console.log(JSON.stringify({ decision: "block", reason: "no" }))', 'no'],
    ['console.log(JSON.stringify({ action: "block", message: "never" })); process.exitCode = 2', 'never'],
  ] as const) {
    const hooks = withCommand(t, 'command:*', body)
    assert.deepEqual(await collectDecisions(hooks), [{ decision: 'deny', message }], body)
  }
})

test('a program that fails, hangs or prints no JSON allows the command, unless it fails closed', async (t) => {
  for (const body of ['process.exit(1)', 'setInterval(() => undefined, 1000)', 'console.log("hello")']) {
    const open = withCommand(t, 'command:*', body, { timeout: 0.4 })
    assert.deepEqual(await collectDecisions(open), [], body)
    assert.equal(open.status('command:*/hook.js').failed, 1)
    const closed = withCommand(t, 'command:*', body, { timeout: 0.4, fail_closed: true })
    const [answer] = await collectDecisions(closed)
    assert.match(JSON.stringify(answer), /"decision":"deny"/, body)
  }
})

test('a program that does not exist is reported, and is tripped after repeated failures', async (t) => {
  const hooks = createTestHooks(t, { settings: { 'agent:start': [{ command: '/nowhere/program' }] } })
  hooks.registry.discoverAndLoad()
  for (let count = 0; count < 4; count++) hooks.registry.emit('agent:start', agentStart('x'))
  await hooks.registry.waitUntilIdle(10_000)
  const { state, fired, dropped, lastError } = hooks.status('agent:start/program')
  assert.deepEqual([state, fired, dropped], ['tripped', 3, 1])
  assert.match(lastError?.text ?? '', /there is no program/)
})

test('an event that cannot be serialised is lost alone', async (t) => {
  const { url, deliveries } = await startReceiver(t)
  const hooks = createTestHooks(t, {
    settings: { 'agent:start': [{ command: 'true' }], outbound: [{ url, events: 'agent:start' }] },
  })
  hooks.registry.discoverAndLoad()
  const raw_event: Record<string, unknown> = {}
  raw_event['self'] = raw_event
  hooks.registry.emit('agent:start', Object.assign(agentStart('x'), { raw_event }))
  hooks.registry.emit('agent:start', agentStart('y'))
  assert.ok(await hooks.registry.waitUntilIdle(10_000))
  assert.equal(deliveries.length, 1)
  assert.deepEqual([hooks.status('agent:start/true').failed, hooks.status('agent:start/true').fired], [1, 2])
})

test('a matcher must match the whole command, or else the whole platform', async (t) => {
  const hooks = withCommand(t, 'command:*', 'console.log(JSON.stringify({ decision: "handled" }))', {
    matcher: 'new|st.*',
  })
  assert.deepEqual(await collectDecisions(hooks), [{ decision: 'handled' }])
  assert.deepEqual(await collectDecisions(hooks, 'status'), [{ decision: 'handled' }])
  assert.deepEqual(await collectDecisions(hooks, 'renew'), [])
})

test('a program runs only after it was accepted, and then without a restart', async (t) => {
  const hooks = createTestHooks(t, { acceptsAll: false })
  const file = `'${program(hooks, 'hook.js', 'console.log(JSON.stringify({ decision: "handled" }))')}'`
  hooks.settings.hooks = { ...hooks.settings.hooks, 'command:*': [{ command: file }] }
  hooks.registry.discoverAndLoad()
  assert.equal(hooks.status('command:*/hook.js').state, 'not-accepted')
  assert.deepEqual(await collectDecisions(hooks), [])
  writeConsents(hooks.home, [{ event: 'command:new', command: file }])
  hooks.registry.applyConfig()
  assert.deepEqual(await collectDecisions(hooks), [], 'another event was accepted')
  writeConsents(hooks.home, [{ event: 'command:*', command: file }])
  hooks.registry.applyConfig()
  assert.deepEqual(await collectDecisions(hooks), [{ decision: 'handled' }])
  writeFileSync(join(hooks.home, 'shell-hooks-allowlist.json'), 'no JSON')
  hooks.registry.applyConfig()
  assert.deepEqual(await collectDecisions(hooks), [])
})

test('HERMES_SAFE_MODE disables programs and webhooks, but no hook folders', (t) => {
  const hooks = createTestHooks(t, {
    environment: { HERMES_SAFE_MODE: '1' },
    settings: {
      'agent:start': [{ command: 'true' }],
      outbound: [{ url: 'http://127.0.0.1:9', events: 'agent:start' }],
    },
    files: { 'a/HOOK.yaml': 'events: agent:end\n', 'a/handler.js': 'export const handle = () => undefined' },
  })
  hooks.registry.discoverAndLoad()
  assert.deepEqual(
    hooks.registry.list().map(({ name }) => name),
    ['a'],
  )
})

interface Delivery {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Answers with these codes, then with 200. */
async function startReceiver(t: TestContext, codes: readonly number[] = []) {
  const deliveries: Delivery[] = []
  const left = [...codes]
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    deliveries.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    const code = left.shift() ?? 200
    response.writeHead(code, code === 302 ? { location: '/elsewhere' } : {}).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}/hook`, deliveries }
}

function withWebhook(t: TestContext, spec: Readonly<Record<string, unknown>>, environment = {}) {
  const hooks = createTestHooks(t, { environment, settings: { outbound: [{ name: 'ops', ...spec }] } })
  hooks.registry.discoverAndLoad()
  return hooks
}

test('a webhook receives the events it subscribes to, signed', async (t) => {
  const { url, deliveries } = await startReceiver(t)
  const hooks = withWebhook(t, { url, events: ['agent:*'], secret_env: 'HOOK_SECRET' }, { HOOK_SECRET: 'shh' })
  hooks.registry.emit('agent:start', agentStart('hello'))
  hooks.registry.emit('command:new', command('new'))
  await hooks.registry.waitUntilIdle(10_000)
  assert.equal(deliveries.length, 1)
  const { headers, body } = deliveries[0] ?? { headers: {}, body: '' }
  const { hook_event_name, extra, delivery_id, timestamp } = JSON.parse(body)
  assert.deepEqual([hook_event_name, extra.message, delivery_id], ['agent:start', 'hello', 'd1'])
  assert.ok(!Number.isNaN(Date.parse(timestamp)))
  assert.equal(headers['x-hermes-event'], 'agent:start')
  assert.equal(headers['x-hermes-delivery'], 'd1')
  const signature = createHmac('sha256', 'shh').update(body).digest('hex')
  assert.equal(headers['x-hermes-signature-256'], `sha256=${signature}`)
  const { description, state } = hooks.status('webhook/ops')
  assert.deepEqual([description, state], [`POST ${new URL(url).origin}`, 'ready'])
})

test('a webhook is retried once after a server error, not after a client error, and never follows a redirect', async (t) => {
  for (const [codes, attempts, failures] of [
    [[500], 2, 0],
    [[500, 503], 2, 1],
    [[400], 1, 1],
    [[302], 1, 1],
  ] as const) {
    const { url, deliveries } = await startReceiver(t, codes)
    const hooks = withWebhook(t, { url, events: 'agent:start' })
    hooks.registry.emit('agent:start', agentStart('x'))
    await hooks.registry.waitUntilIdle(10_000)
    assert.deepEqual([deliveries.length, hooks.status('webhook/ops').failed], [attempts, failures], String(codes))
    assert.equal(deliveries[0]?.headers['x-hermes-signature-256'], undefined)
  }
})

test('without its secret a webhook sends nothing, not even unsigned', async (t) => {
  const { url, deliveries } = await startReceiver(t)
  const hooks = withWebhook(t, { url, events: 'agent:start', secret_env: 'HOOK_SECRET' })
  hooks.registry.emit('agent:start', agentStart('x'))
  await hooks.registry.waitUntilIdle(10_000)
  assert.equal(deliveries.length, 0)
  assert.match(hooks.status('webhook/ops').lastError?.text ?? '', /HOOK_SECRET/)
})

test('a changed configuration takes effect at once, and unchanged hooks keep their counts', async (t) => {
  const { url, deliveries } = await startReceiver(t)
  const hooks = withWebhook(t, { url, events: 'agent:start' })
  hooks.registry.emit('agent:start', agentStart('x'))
  await hooks.registry.waitUntilIdle(10_000)
  const [first] = hooks.settings.hooks.outbound
  assert.ok(first !== undefined)
  hooks.settings.hooks = { ...hooks.settings.hooks, outbound: [first, { ...first, name: 'second' }] }
  hooks.registry.applyConfig()
  hooks.registry.emit('agent:start', agentStart('y'))
  await hooks.registry.waitUntilIdle(10_000)
  assert.equal(deliveries.length, 3)
  assert.deepEqual([hooks.status('webhook/ops').fired, hooks.status('webhook/second').fired], [2, 1])
  hooks.settings.hooks = { ...hooks.settings.hooks, outbound: [] }
  hooks.registry.applyConfig()
  assert.deepEqual(hooks.registry.list(), [])
})
