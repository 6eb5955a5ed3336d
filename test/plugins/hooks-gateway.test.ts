/**
 * Plugin hooks in a gateway: when each is called, in which order, and that the turn does not wait for observers.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { conversation, rowsIn } from '../stories/support.ts'
import { pluginFiles, writeFiles } from './loader-support.ts'

/** A gateway with one plugin, whose lines `note(text)` writes. */
async function withPlugin(
  t: TestContext,
  body: string,
  options: TestGatewayOptions = {},
): Promise<TestGateway & { notes(): string[] }> {
  const files = pluginFiles(
    'demo',
    `const { appendFileSync } = await import('node:fs')
     const note = (text) => appendFileSync(ctx.directory + '/notes', text + '\\n')
     ${body}`,
  )
  const gateway = await startTestGateway(t, {
    ...options,
    config: { ...options.config, plugins: { enabled: ['demo'] } },
    prepare: (home) => writeFiles(home.plugins, files),
  })
  const path = join(gateway.home.plugins, 'demo', 'notes')
  const notes = () => (existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [])
  return { ...gateway, notes }
}

const noteAll = (names: readonly string[]) =>
  names.map((name) => `ctx.registerHook('${name}', () => { note('${name}') })`).join('\n')

test('hooks of a turn run in order, and the session starts with its first turn only', async (t) => {
  const names = [
    'pre_gateway_dispatch',
    'on_session_start',
    'pre_llm_call',
    'pre_api_request',
    'post_api_request',
    'post_llm_call',
    'on_session_end',
    'on_session_finalize',
  ]
  const gateway = await withPlugin(t, noteAll(names))
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  await gateway.say('two')
  await gateway.waitForReply('You said: two')
  await gateway.stop()
  const turn = ['pre_llm_call', 'pre_api_request', 'post_api_request', 'post_llm_call', 'on_session_end']
  assert.deepEqual(gateway.notes(), [
    'pre_gateway_dispatch',
    'on_session_start',
    ...turn,
    'pre_gateway_dispatch',
    ...turn,
    'on_session_finalize',
  ])
})

test('the hook for the stop of the gateway runs after the hooks for the ends of all turns', async (t) => {
  const body = `
    ctx.registerHook('on_session_end', async () => {
      for (let round = 0; round < 500; round++) await new Promise((done) => setImmediate(done))
      note('end')
    })
    ctx.registerHook('on_session_finalize', () => { note('finalize') })`
  const gateway = await withPlugin(t, body)
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  await gateway.stop()
  assert.deepEqual(gateway.notes(), ['end', 'finalize'])
})

test('/new calls the hooks of the command, of the old session and of the new one in order', async (t) => {
  const gateway = await withPlugin(
    t,
    `ctx.registerHook('pre_command', ({ command, alias_used, surface }) => { note('command ' + command + ' as ' + alias_used + ' ' + surface) })
     let first
     ctx.registerHook('on_session_start', ({ session_id }) => { first ??= session_id; note('start ' + (session_id === first ? 'first' : 'second')) })
     ctx.registerHook('on_session_finalize', ({ session_id, reason }) => { note('finalize ' + (session_id === first ? 'first' : session_id) + ' ' + reason) })
     ctx.registerHook('on_session_reset', async ({ session_id, old_session_id, reason }) => { await null; note('reset from ' + (old_session_id === first ? 'first' : '?') + ' to another: ' + (session_id !== first) + ' ' + reason) })`,
  )
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  await gateway.say('/reset')
  await gateway.waitForReply('New conversation')
  await gateway.say('two')
  await gateway.waitForReply('You said: two')
  await gateway.stop()
  assert.deepEqual(gateway.notes(), [
    'start first',
    'command new as reset gateway',
    'finalize first new',
    'reset from first to another: true new',
    'start second',
    'finalize null shutdown',
  ])
})

test('a plugin can skip or rewrite a message before it is answered', async (t) => {
  const gateway = await withPlugin(
    t,
    `ctx.registerHook('pre_gateway_dispatch', ({ event }) => {
       if (event.text.includes('spam')) return { action: 'skip', reason: 'spam' }
       if (event.source.user_id === 'eve') return { action: 'rewrite', text: 'Eve says: ' + event.text }
     })`,
  )
  await gateway.say('buy spam')
  await gateway.say('hello', { user: 'eve', chat: 'two' })
  await gateway.waitForReply('You said: Eve says: hello', 'two')
  await gateway.say('hi')
  await gateway.waitForReply('You said: hi')
  assert.deepEqual(gateway.replies(), ['You said: Eve says: hello', 'You said: hi'])
  await gateway.stop()
  const rows = rowsIn(gateway.home, 'select payload from inbox')
  assert.ok(!rows.some(({ payload }) => String(payload).includes('buy')))
})

test('context of plugins is only in the request of its turn, not in the prompt or the transcript', async (t) => {
  const gateway = await withPlugin(
    t,
    `let turn = 0
     ctx.registerHook('pre_llm_call', () => ({ context: 'recalled ' + ++turn }))`,
  )
  await gateway.say('one')
  await gateway.waitForReply('You said')
  await gateway.say('two')
  await gateway.until(({ text }) => text.includes('recalled 2'))
  const [first, second] = [conversation(await gateway.modelRequest(0)), conversation(await gateway.modelRequest(1))]
  assert.deepEqual(first, ['user: one\n\nrecalled 1'])
  assert.equal(second[0], 'user: one')
  assert.equal(second.at(-1), 'user: two\n\nrecalled 2')
  const system = async (number: number) =>
    JSON.stringify((await gateway.modelRequest(number)).body).match(/"system".*?\}/)?.[0]
  assert.equal(await system(0), await system(1))
  await gateway.stop()
  const kept = JSON.stringify(rowsIn(gateway.home, `select content from messages where role = 'user'`))
  assert.ok(!kept.includes('recalled'), kept)
})

test('a slow observer of replies does not delay them and is notified before the stop', async (t) => {
  const gateway = await withPlugin(
    t,
    `let release
     const late = new Promise((resolve) => { release = resolve })
     ctx.registerHook('post_llm_call', async ({ assistant_response }) => { await late; note('heard ' + assistant_response) })
     ctx.registerHook('on_session_end', ({ completed }) => { note('end ' + completed) })
     ctx.registerHook('pre_command', () => release())`,
  )
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  assert.deepEqual(gateway.notes(), [])
  await gateway.say('/status', { chat: 'elsewhere' })
  await gateway.waitForReply(/./, 'elsewhere')
  await gateway.stop()
  assert.deepEqual(gateway.notes(), ['heard You said: one', 'end true'])
})

test('the first request of a session contains prompt sections and memory of plugins', async (t) => {
  const gateway = await withPlugin(
    t,
    `ctx.registerSystemPromptSection('house', ({ platform }) => 'Rule of the house on ' + platform)
     ctx.registerMemoryProvider({
       name: 'notes',
       systemPromptBlock: ({ userId }) => 'You know ' + userId,
       prefetch: (query) => 'remembered about ' + query,
       syncTurn: (user, assistant) => { note(user + ' -> ' + assistant.slice(0, 13)) },
     })`,
    { config: { memory: { provider: 'demo' }, roles: { owners: ['fake:ada'] } } },
  )
  await gateway.say('one', { user: 'ada' })
  await gateway.waitForReply('You said')
  const text = JSON.stringify((await gateway.modelRequest(0)).body)
  assert.match(text, /You know ada\\n\\n.*Rule of the house on fake\\n\\n/)
  assert.match(text, /one\\n\\n<memory-context>[^<]*\\n\\nremembered about one\\n<\/memory-context>"/)
  await gateway.stop()
  assert.deepEqual(gateway.notes(), ['one -> You said: one'])
})

test('a memory provider learns of messages that are taken back and of the end of a session', async (t) => {
  const gateway = await withPlugin(
    t,
    `ctx.registerMemoryProvider({
       name: 'notes',
       onSessionEnd: (messages) => { note('end ' + messages.length) },
       onSessionSwitch: (_id, { reset, rewound, reason }) => { note([reason, reset, rewound].join(' ')) },
     })`,
    { config: { memory: { provider: 'demo' }, roles: { owners: ['fake:ada'] } } },
  )
  for (const text of ['one', 'two']) {
    await gateway.say(text, { user: 'ada' })
    await gateway.waitForReply(`You said: ${text}`)
  }
  await gateway.say('/undo', { user: 'ada' })
  await gateway.say('/new', { user: 'ada' })
  await gateway.say('three', { user: 'ada' })
  await gateway.waitForReply('You said: three')
  await gateway.stop()
  assert.deepEqual(gateway.notes(), ['undo false true', 'end 2', 'new true false'])
})

test('a daemon of a plugin runs while the gateway runs and is listed in the status', async (t) => {
  const gateway = await withPlugin(
    t,
    `ctx.registerBackgroundDaemon('watch', () => note('up'), () => note('down'), {
       periodicTask: { name: 'look', intervalMs: 3600000, runAtStart: true, run: () => note('look') } })`,
  )
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  const [daemon] = gateway.current().status().daemons
  assert.deepEqual([daemon?.name, daemon?.owner, daemon?.state], ['watch', 'demo', 'running'])
  await gateway.stop()
  assert.deepEqual(gateway.notes(), ['up', 'look', 'down'])
})

test('memory.provider that names no plugin degrades the gateway and names the nearest one', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { memory: { provider: 'honhco' } },
    prepare: (home) =>
      writeFiles(home.plugins, { ...pluginFiles('memory/honcho', ''), ...pluginFiles('memory/plain', '') }),
  })
  const reasonOf = () =>
    gateway
      .current()
      .status()
      .degraded.find((reason) => reason.includes('memory.provider')) ?? ''
  assert.match(reasonOf(), /"honhco".*"honcho"/)
})

test('memory.provider that names a plugin without a memory provider degrades the gateway', async (t) => {
  const gateway = await withPlugin(t, '', { config: { memory: { provider: 'demo' } } })
  const reasons = gateway.current().status().degraded
  assert.ok(reasons.some((reason) => reason.includes('memory.provider') && reason.includes('demo')))
})
