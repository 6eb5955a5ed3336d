/**
 * Plugins in a whole gateway: what they register works in conversations, and is gone when they are disabled.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { errorCatalogue } from '../../src/lib/error-catalogue.ts'
import { HermesError } from '../../src/lib/errors.ts'
import type { HomeLayout } from '../../src/lib/home.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { at, conversation } from '../stories/support.ts'
import { type Files, pluginFiles, writeFiles } from './loader-support.ts'

interface Setup extends TestGatewayOptions {
  readonly plugins?: Readonly<Record<string, unknown>>
}

function withPlugins(t: TestContext, files: Files, setup: Setup = {}): Promise<TestGateway> {
  const enabled = [...new Set(Object.keys(files).map((path) => path.slice(0, path.lastIndexOf('/'))))]
  const config = { ...setup.config, plugins: { enabled, ...setup.plugins } }
  return startTestGateway(t, { ...setup, config, prepare: (home: HomeLayout) => writeFiles(home.plugins, files) })
}

const nameSchema =
  '{ type: "object", properties: { name: { type: "string", description: "Whom" } }, required: ["name"] }'
const greeter = (more = '') =>
  pluginFiles(
    'greeter',
    `ctx.registerTool({ name: 'greet', description: 'Greets a person', parameters: ${nameSchema},
       run: ({ name }, { sessionId, signal, log }) => ({ hello: name, known: Boolean(sessionId && signal && log) }) });${more}`,
  )

test('a tool of a plugin is sent to the model with its schema, and is called with validated arguments', async (t) => {
  const gateway = await withPlugins(t, greeter(), {
    replies: [
      { toolCalls: [{ name: 'greet', arguments: { name: 7 } }] },
      { toolCalls: [{ name: 'greet', arguments: {} }] },
      { text: 'Done' },
    ],
  })
  await gateway.say('greet')
  await gateway.waitForReply('Done')
  const shown =
    '{"name":"greet","description":"Greets a person","parameters":{"type":"object","properties":{"name":{"type":"string","description":"Whom"}},"required":["name"]}}'
  assert.ok(JSON.stringify((await gateway.modelRequest(0)).body).includes(shown))
  assert.match(JSON.stringify((await gateway.modelRequest(1)).body), /hello.{1,10}7.{1,20}known.{1,5}true/)
  const rejected = conversation(await gateway.modelRequest(2)).at(-1) ?? ''
  assert.match(rejected, /^tool: \{"error":.*\bgreet\b.*\bname\b/)
})

test('a tool replaces a built-in one only where that is allowed, and the built-in one returns with the next session', async (t) => {
  const body = `ctx.registerTool({ name: 'todo', override: true, description: 'Mine', parameters: { type: 'object' }, run: () => 'mine' })`
  const refused = await withPlugins(t, pluginFiles('taker', body))
  const [report] = (await refused.current().plugins()).filter(({ id }) => id === 'taker')
  assert.ok(report?.reason.endsWith(new HermesError('plugins/tool-taken', '(todo, requested by taker)').message))
  const ready = await refused.http('/readyz')
  assert.match(JSON.stringify(at(await ready.json(), 'degraded')), /\bplugin taker\b/)

  const entries = { taker: { allow_tool_override: true } }
  const gateway = await withPlugins(t, pluginFiles('taker', body), { plugins: { entries } })
  const described = async (request: number) =>
    /"name":"todo","description":"Mine"/.test(JSON.stringify((await gateway.modelRequest(request)).body))
  await gateway.say('one')
  assert.equal(await described(0), true)
  gateway.configure({ plugins: { enabled: [], entries } })
  await gateway.post('/api/plugins/reload', {})
  await gateway.say('again in the same session')
  assert.equal(await described(1), true)
  await gateway.say('in another one', { chat: 'elsewhere', user: 'bob' })
  assert.equal(await described(2), false)
})

test('a command of a plugin is listed in /help, emits its event, and is removed with its plugin', async (t) => {
  const files = pluginFiles(
    'dice',
    `ctx.registerCommand({ name: '/Roll Dice', description: 'Rolls', argsHint: '[sides]',
       run: (args, { platform, userId }) => args === '' ? null : \`\${userId} on \${platform}: \${args}\` })`,
  )
  const gateway = await withPlugins(t, files)
  await gateway.say('/roll-dice 6', { user: 'ada' })
  await gateway.waitForReply('ada on fake: 6')
  await gateway.waitForEvent('command:roll-dice', { args: '6' })
  await gateway.say('/help')
  await gateway.waitForReply(/\/roll-dice \[sides\]/)
  gateway.configure({ plugins: { enabled: ['dice'], disabled: ['dice'] } })
  await gateway.post('/api/plugins/reload', {})
  await gateway.say('/roll-dice 6', { user: 'ada' })
  await gateway.waitForReply('Unknown command `/roll-dice`')
})

test('a plugin that registers a command of the gateway is not loaded', async (t) => {
  const gateway = await withPlugins(
    t,
    pluginFiles('thief', `ctx.registerCommand({ name: 'stop', description: '', run: () => '' })`),
  )
  const { plugins } = gateway.current().status()
  assert.ok(plugins[0]?.reason.includes(errorCatalogue['plugins/command-taken'].meaning))
})

test('hooks, middleware and system prompt sections of a plugin change the model request', async (t) => {
  const files = pluginFiles(
    'writer',
    `ctx.registerSystemPromptSection('house', ({ platform }) => 'The house rules of ' + platform)
     ctx.registerHook('pre_llm_call', ({ user_message }) => ({ context: 'It rains. ' + user_message.length }))
     ctx.registerMiddleware('llm_request', ({ request }) => ({ request: { ...request, user: 'tagged' }, source: 'writer' }))
     ctx.registerHook('transform_llm_output', ({ response_text }) => response_text.toUpperCase())`,
  )
  const gateway = await withPlugins(t, files, { replies: [{ text: 'quiet' }] })
  await gateway.say('hello')
  await gateway.waitForReply('QUIET')
  const asked = JSON.stringify((await gateway.modelRequest(0)).body)
  assert.match(asked, /The house rules of fake/)
  assert.match(asked, /hello\\n\\nIt rains\. 5/)
  assert.match(asked, /"user":"tagged"/)
})

test('a skill of a plugin is loaded by its full name and is not in the prompt', async (t) => {
  const files = {
    ...pluginFiles('kitchen', `ctx.registerSkill('tea', 'skills/tea', 'Brew tea')`),
    'kitchen/skills/tea/SKILL.md': '---\nname: tea\ndescription: x\n---\n\nThree minutes.\n',
  }
  const gateway = await withPlugins(t, files, { replies: [{ text: 'brewed' }] })
  await gateway.say('/kitchen:tea for two')
  await gateway.waitForReply('brewed')
  const asked = JSON.stringify((await gateway.modelRequest(0)).body['messages'])
  assert.match(asked, /Three minutes/)
  assert.doesNotMatch(asked, /- kitchen:tea|Brew tea/)
})

test('a plugin requests completions, runs tools, stores state and reads its settings', async (t) => {
  const files = pluginFiles(
    'asker',
    `ctx.registerCommand({ name: 'ask', description: '', async run(args) {
       const { text, model, usage } = await ctx.llm.complete([{ role: 'system', content: 'Be short' }, { role: 'user', content: args }], { maxOutputTokens: 9 })
       const file = await ctx.dispatchTool('write_file', { path: 'kept.txt', content: text })
       await ctx.state.set('last', { text, usage })
       return [text, model, typeof file, ctx.config.get('tone'), ctx.config.get('unit'), (await ctx.state.keys()).join()].join(' | ')
     } })
     ctx.registerCommand({ name: 'override', description: '', run: () => ctx.llm.complete('x', { model: 'dearer' }) })
     ctx.registerCommand({ name: 'nothing', description: '', run: () => ctx.dispatchTool('no_such_tool', {}) })`,
    'name: asker\nconfig_schema:\n  tone: {type: string, default: dry}\n  unit: {type: string, default: cm}\n',
  )
  const entries = { asker: { settings: { unit: 'inch' } } }
  const gateway = await withPlugins(t, files, { plugins: { entries }, replies: [{ text: 'Because.' }] })
  await gateway.say('/ask why')
  await gateway.waitForReply('Because. | test-model | string | dry | inch | last')
  const { body } = await gateway.modelRequest(0)
  assert.deepEqual(body['messages'], [
    { role: 'system', content: 'Be short' },
    { role: 'user', content: 'why' },
  ])
  assert.equal(readFileSync(join(gateway.home.root, 'kept.txt'), 'utf8'), 'Because.')
  const state: unknown = JSON.parse(readFileSync(join(gateway.home.root, 'plugin-state/asker.json'), 'utf8'))
  assert.match(JSON.stringify(state), /"total_tokens":\d+/)
  await gateway.say('/override')
  await gateway.waitForReply(
    new HermesError('plugins/not-allowed', '(plugins.entries.asker.llm.allow_model_override)').message,
  )
  await gateway.say('/nothing')
  await gateway.waitForReply(new HermesError('plugins/tool-refused', 'no_such_tool:').message)
})

test('guardrails and middleware apply to calls of plugins too, and endless recursion is stopped', async (t) => {
  const files = {
    ...pluginFiles(
      'a-guard',
      `ctx.registerGuardrail('no-writing', 'tool', ({ toolName }) => toolName === 'write_file' ? 'writing is closed' : null)`,
    ),
    ...pluginFiles(
      'b-asker',
      `ctx.registerCommand({ name: 'write', description: '', run: () => ctx.dispatchTool('write_file', { path: 'x', content: 'y' }) })
       ctx.registerMiddleware('llm_execution', async ({ next_call }) => { await ctx.llm.complete('and again'); return next_call() })
       ctx.registerCommand({ name: 'forever', description: '', run: async () => (await ctx.llm.complete('once')).text })`,
    ),
  }
  const gateway = await withPlugins(t, files)
  await gateway.say('/write')
  await gateway.waitForReply(new RegExp(`${errorCatalogue['plugins/tool-refused'].meaning}.*writing is closed`))
  await gateway.say('/forever')
  await gateway.waitForReply('once')
  await gateway.waitForLog('plugins/too-deep')
})

test('a tool that a plugin runs during a turn has the session of the turn; one that a command runs has its own', async (t) => {
  const files = pluginFiles(
    'inner',
    `const nothing = { type: 'object' }
     ctx.registerTool({ name: 'where', description: 'x', parameters: nothing, run: (_args, { sessionId, turnId }) => [sessionId, turnId].join() })
     ctx.registerTool({ name: 'outer', description: 'x', parameters: nothing, async run(_args, { sessionId, turnId }) {
       return await ctx.dispatchTool('where', {}) === [sessionId, turnId].join() ? 'the same' : 'another one'
     } })
     ctx.registerHook('pre_llm_call', async ({ session_id, turn_id }) =>
       await ctx.dispatchTool('where', {}) === [session_id, turn_id].join() ? 'hooks, too' : 'not hooks')
     ctx.registerCommand({ name: 'where', description: '', run: async () => (await ctx.dispatchTool('where', {})).split(',')[0] })`,
  )
  const replies = [{ toolCalls: [{ name: 'outer', arguments: {} }] }, { text: 'done' }]
  const gateway = await withPlugins(t, files, { replies })
  await gateway.say('where are you?')
  await gateway.waitForReply('done')
  const asked = JSON.stringify((await gateway.modelRequest(1)).body)
  assert.match(asked, /hooks, too/)
  assert.match(asked, /the same/)
  await gateway.say('/where')
  await gateway.waitForReply('plugin:inner')
})

test('a completion that a plugin requests during a turn is aborted when the turn is stopped', async (t) => {
  const files = pluginFiles(
    'asker',
    `ctx.registerHook('pre_llm_call', () => ctx.llm.complete('first').then(({ text }) => text, () => { ctx.log.info({}, 'completion aborted') }))`,
  )
  const gateway = await withPlugins(t, files, { replies: [{ text: 'one two three', hang: 'stream', hangAfter: 2 }] })
  await gateway.say('hello')
  await gateway.modelRequest(0)
  await gateway.say('/stop')
  await gateway.waitForLog('completion aborted')
})

test('a hook that runs a tool after every tool call is stopped', async (t) => {
  const files = pluginFiles(
    'echo',
    `let ran = 0
     ctx.registerTool({ name: 'ping', description: 'pings', parameters: { type: 'object' }, run: () => 'pong ' + ++ran })
     ctx.registerHook('post_tool_call', async () => {
       if (ran < 50) await ctx.dispatchTool('ping', {})
       else ctx.log.error({}, 'the recursion is not limited')
     })
     ctx.registerCommand({ name: 'ping', description: '', run: () => ctx.dispatchTool('ping', {}) })`,
  )
  const gateway = await withPlugins(t, files)
  await gateway.say('/ping')
  await gateway.waitForReply('pong 1')
  await gateway.waitForLog('plugins/too-deep')
  assert.doesNotMatch(gateway.log.join(''), /the recursion is not limited/)
})

test('a plugin can inject a message only where that is allowed, and only into an existing conversation', async (t) => {
  const files = pluginFiles(
    'knocker',
    `ctx.registerCommand({ name: 'knock', description: '', async run(args, { sessionKey }) {
       return String(await ctx.injectMessage(args, { sessionKey })) + ' ' + String(await ctx.injectMessage('x', { sessionKey: 'nowhere' }))
     } })`,
  )
  const forbidden = await withPlugins(t, files)
  await forbidden.say('/knock anybody?')
  await forbidden.waitForReply('false false')

  const entries = { knocker: { allow_gateway_injection: true } }
  const gateway = await withPlugins(t, files, {
    plugins: { entries },
    model: ({ body }) => ({ text: `Heard ${JSON.stringify(body['messages']).length > 0}` }),
  })
  await gateway.say('first')
  await gateway.waitForReply('Heard true')
  await gateway.say('/knock /stop it')
  await gateway.waitForReply('true false')
  assert.match(JSON.stringify((await gateway.modelRequest(1)).body), /\/stop it/)
})

test('injecting anything but a text is rejected, and a tool called without arguments receives an empty object', async (t) => {
  const files = pluginFiles(
    'odd',
    `ctx.registerTool({ name: 'ping', description: 'pings', parameters: { type: 'object' }, run: (args) => 'pong ' + JSON.stringify(args) })
     ctx.registerCommand({ name: 'odd', description: '', async run(args, { sessionKey }) {
       const said = []
       for (const content of [undefined, 5, { text: 'x' }, ['x']])
         said.push(await ctx.injectMessage(content, { sessionKey }).catch(({ code }) => code))
       for (const given of [undefined, null, [], 'x', { big: 5n }])
         said.push(await ctx.dispatchTool('ping', given).catch(({ code }) => code))
       return said.join(' ')
     } })`,
  )
  const gateway = await withPlugins(t, files, { plugins: { entries: { odd: { allow_gateway_injection: true } } } })
  await gateway.say('first')
  await gateway.waitForReply('first')
  await gateway.say('/odd')
  const bad = 'plugins/bad-request'
  await gateway.waitForReply(`${bad} ${bad} ${bad} ${bad} pong {} pong {} ${bad} ${bad} ${bad}`)
  await gateway.say('hello')
  await gateway.waitForReply('hello')
})

test('with HERMES_SAFE_MODE no plugin is loaded, and the status says so', async (t) => {
  const gateway = await withPlugins(t, greeter(), { startNow: false })
  await gateway.start({ environment: { PATH: process.env['PATH'], HOME: gateway.home.root, HERMES_SAFE_MODE: '1' } })
  const [report, ...more] = gateway.current().status().plugins
  assert.deepEqual([report?.state, more], ['off', []])
  assert.match(report?.reason ?? '', /\bHERMES_SAFE_MODE\b/)
  assert.equal((await gateway.current().plugins()).find(({ id }) => id === 'greeter')?.loadMs, null)
})

test('changing plugins.enabled in the configuration loads and unloads a plugin while the gateway runs', async (t) => {
  const gateway = await withPlugins(t, greeter(), { plugins: { enabled: [] } })
  gateway.configure({ plugins: { enabled: ['greeter'] } })
  await gateway.waitForLog({ event: 'plugin.loaded', plugin: 'greeter' })
  gateway.configure({ plugins: { enabled: [] } })
  await gateway.waitForLog({ event: 'plugin.unloaded', plugin: 'greeter' })
})

test('a daemon starts with the gateway and stops when its plugin is disabled', async (t) => {
  const files = pluginFiles(
    'ticker',
    `ctx.registerBackgroundDaemon('tick', () => ctx.log.info({}, 'tick is up'), () => ctx.log.info({}, 'tick is down'))`,
  )
  const gateway = await withPlugins(t, files)
  await gateway.waitForLog('tick is up')
  const { daemons } = gateway.current().status()
  assert.deepEqual(
    daemons.map(({ name, owner }) => ({ name, owner })),
    [{ name: 'tick', owner: 'ticker' }],
  )
  gateway.configure({ plugins: { enabled: [] } })
  await gateway.post('/api/plugins/reload', {})
  await gateway.waitForLog('tick is down')
  assert.deepEqual(gateway.current().status().daemons, [])
})

test('the status and the log do not contain a secret from an error of a plugin', async (t) => {
  const gateway = await withPlugins(
    t,
    pluginFiles('leaky', `throw new Error('no answer for ' + ctx.config.get('api_key'))`),
    {
      plugins: { entries: { leaky: { settings: { api_key: 'sk-very-secret-key-0123456789' } } } },
    },
  )
  const said = `${JSON.stringify(gateway.current().status())}${gateway.log.join('')}${await (await gateway.http('/api/plugins')).text()}`
  assert.match(said, /no answer for/)
  assert.doesNotMatch(said, /very-secret/)
})

test('the status reports how many events were dropped because a subscriber was too slow', async (t) => {
  const body = `ctx.registerSubscriber('slow', () => {})
    ctx.registerMiddleware('llm_request', ({ scope }) => { for (let i = 0; i < 40_000; i++) scope.mark('tick') })`
  const gateway = await withPlugins(t, pluginFiles('ticker', body))
  const degraded = async () => Object(await (await gateway.http('/api/status')).json()).degraded
  assert.deepEqual(await degraded(), [])
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  const reasons: readonly string[] = await degraded()
  assert.equal(reasons.length, 1)
  assert.match(reasons[0] ?? '', /^[1-9]\d* /)
})

test('middleware around model calls delays a text only until its response is complete', async (t) => {
  const waiting = `ctx.registerMiddleware('llm_execution', ({ next_call }) => next_call())
    const { promise, resolve } = Promise.withResolvers()
    ctx.registerCommand({ name: 'go', description: '', run: () => resolve() })
    ctx.registerTool({ name: 'wait', description: 'Waits', parameters: { type: 'object' }, run: () => promise })`
  const gateway = await withPlugins(t, pluginFiles('wrapper', waiting), {
    capabilities: ['edit'],
    config: { streaming: { buffer_threshold: 1, edit_interval: 0 } },
    replies: [{ text: 'Let me look.', toolCalls: [{ name: 'wait', arguments: {} }] }, { text: 'Done' }],
  })
  const turn = gateway.say('look')
  await gateway.waitForReply('Let me look.')
  await gateway.say('/go')
  await turn
  await gateway.waitForReply('Done')
})
