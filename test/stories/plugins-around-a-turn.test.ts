/**
 * Plugins observe a conversation, and their decisions reach the user.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'
import { hasResult, rowsIn, terminalCall, waitForCommandReply } from './support.ts'

function withPlugin(t: TestContext, body: string, options: TestGatewayOptions = {}): Promise<TestGateway> {
  return startTestGateway(t, {
    ...options,
    config: { plugins: { enabled: ['witness'] }, ...options.config },
    prepare: (home) => writeFiles(home.plugins, pluginFiles('witness', body)),
  })
}

/** Code of a plugin that logs calls of these hooks with the named payload keys. */
function witness(...hooks: readonly (readonly [name: string, ...keys: string[]])[]): string {
  const lines = hooks.map(
    ([name, ...keys]) =>
      `ctx.registerHook('${name}', (payload) => void ctx.log.info({}, ['called ${name}', ...${JSON.stringify(keys)}.map((key) => payload[key])].join(' ')))`,
  )
  return lines.join('\n')
}

function called({ log }: TestGateway): string[] {
  return log.flatMap((line) => /"msg":"called ([^"]*)"/.exec(line)?.[1] ?? [])
}

const turnHooks = witness(
  ['on_session_start', 'platform', 'route'],
  ['pre_llm_call', 'is_first_turn', 'user_message'],
  ['post_llm_call', 'assistant_response'],
  ['on_session_end', 'completed', 'interrupted'],
)

test('hooks of a conversation are called in order, and a session starts once', async (t) => {
  const gateway = await withPlugin(t, turnHooks, { replies: [{ text: 'one' }, { text: 'two' }] })
  await gateway.say('first')
  await gateway.waitForReply('one')
  await gateway.waitForLog('called on_session_end')
  await gateway.say('second')
  await gateway.waitForReply('two')
  await gateway.stop()
  assert.deepEqual(called(gateway), [
    'on_session_start fake fake_dm',
    'pre_llm_call true first',
    'post_llm_call one',
    'on_session_end true false',
    'pre_llm_call false second',
    'post_llm_call two',
    'on_session_end true false',
  ])
})

test('a turn interrupted by the gateway calls on_session_end, and its session does not start again', async (t) => {
  const gateway = await withPlugin(t, turnHooks, {
    config: { plugins: { enabled: ['witness'] }, agent: { drain_timeout: 0.1 } },
    replies: [terminalCall('echo once'), { text: 'I was cut off', hang: 'stream', hangAfter: 2 }],
    model: (request) => ({ text: hasResult(request) ? 'It ran once.' : 'I know of no result.' }),
  })
  await gateway.say('do it')
  await gateway.modelRequest(1)
  await gateway.stop()
  assert.deepEqual(called(gateway), [
    'on_session_start fake fake_dm',
    'pre_llm_call true do it',
    'on_session_end false true',
  ])
  await gateway.start()
  await gateway.waitForReply('It ran once.')
  await gateway.stop()
  assert.deepEqual(called(gateway).slice(3), [
    'pre_llm_call true do it',
    'post_llm_call It ran once.',
    'on_session_end true false',
  ])
})

test('hooks learn that a newer message interrupted a turn, which is not completed', async (t) => {
  const gateway = await withPlugin(t, turnHooks, {
    config: { plugins: { enabled: ['witness'] }, display: { busy_input_mode: 'interrupt' } },
    replies: [{ hang: 'headers' }, { text: 'two' }],
  })
  await gateway.say('first')
  await gateway.modelRequest(0)
  await gateway.say('second')
  await gateway.waitForReply('two')
  await gateway.stop()
  assert.deepEqual(called(gateway), [
    'on_session_start fake fake_dm',
    'pre_llm_call true first',
    'on_session_end false true',
    'pre_llm_call false second',
    'post_llm_call two',
    'on_session_end true false',
  ])
  const ends = gateway.events.filter(({ name }) => name === 'agent:end')
  assert.deepEqual(
    ends.map(({ context: { message, response } }) => [message, response]),
    [
      ['first', ''],
      ['second', 'two'],
    ],
  )
})

test('a forced stop during a turn calls on_session_end', async (t) => {
  const gateway = await withPlugin(t, turnHooks, { replies: [{ text: 'one two three', hang: 'stream', hangAfter: 2 }] })
  await gateway.say('tell me')
  await gateway.modelRequest(0)
  await gateway.stop(AbortSignal.abort())
  assert.deepEqual(called(gateway).slice(2), ['on_session_end false true'])
})

test('/stop ends a turn as interrupted', async (t) => {
  const gateway = await withPlugin(t, turnHooks, { replies: [{ text: 'one two three', hang: 'stream', hangAfter: 2 }] })
  await gateway.say('tell me')
  await gateway.modelRequest(0)
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  await gateway.waitForLog('called on_session_end')
  assert.deepEqual(called(gateway).slice(2), ['on_session_end false true'])
})

test('a guardrail that rejects the model request sends its reason to the user', async (t) => {
  const body = `ctx.registerGuardrail('hours', 'model', () => 'The office is closed until nine.')`
  const gateway = await withPlugin(t, `${body}\n${turnHooks}`)
  await gateway.say('hello')
  await gateway.waitForReply(/^The office is closed until nine\.$/)
  assert.equal(gateway.model.requests.length, 0)
  await gateway.waitForLog('called on_session_end false false')
  const [turn] = rowsIn(gateway.home, 'select state, reason from turns')
  assert.deepEqual([turn?.['state'], turn?.['reason']], ['failed', 'rejected by the guardrail hours'])
})

test('a plugin that fails around the model call ends the turn, and the notice names the plugin', async (t) => {
  const bodies = {
    guardrail: `ctx.registerGuardrail('cap', 'model', () => { throw new Error('no prices') })`,
    intercept: `ctx.registerIntercept('cap', 'model_execution', async (_call, next) => { await next(); throw new Error('no prices') })`,
    translation: `ctx.registerMiddleware('llm_execution', async function cap({ next_call }) {
      try { return await next_call() } catch { throw new Error('no prices') } })`,
  }
  for (const [what, body] of Object.entries(bodies)) {
    const replies = [what === 'translation' ? { error: { status: 400 } } : { text: 'hello' }]
    const gateway = await withPlugin(t, `${body}\n${turnHooks}`, { replies })
    await gateway.say('hello')
    await gateway.waitForReply(/\(middleware\/failed\).*cap.*witness.*no prices.*hermes plugins disable/s)
    await gateway.waitForLog('called on_session_end false false')
    const [turn] = rowsIn(gateway.home, 'select state from turns')
    assert.equal(turn?.['state'], 'failed', what)
    assert.ok(gateway.model.requests.length <= 1, what)
    await gateway.stop()
  }
})

test('the model receives whether a plugin or the tool failed', async (t) => {
  const body = `ctx.registerIntercept('cap', 'tool_execution', () => { throw new Error('no prices') })`
  const gateway = await withPlugin(t, body, { replies: [terminalCall('true'), { text: 'done' }] })
  await gateway.say('clean up')
  await gateway.waitForReply('done')
  const result = JSON.stringify((await gateway.modelRequest(1)).body)
  assert.match(result, /cap.*witness.*no prices/)
})

test('a command rewritten by a plugin is checked and run in its new form', async (t) => {
  const body = `
    ctx.registerMiddleware('tool_request', ({ tool_name, args }) =>
      tool_name === 'terminal' ? { args: { ...args, command: 'echo harmless' }, source: 'witness' } : null)
    ctx.registerHook('post_tool_call', ({ status, result }) =>
      void ctx.log.info({}, ['called post_tool_call', status, typeof result === 'string' ? 'a text' : 'not a text'].join(' ')))
    ${witness(['pre_tool_call', 'tool_name'])}`
  const gateway = await withPlugin(t, body, {
    replies: [terminalCall('rm -rf /'), { text: 'done' }],
  })
  await gateway.say('clean up')
  await gateway.waitForReply('done')
  const result = JSON.stringify((await gateway.modelRequest(1)).body)
  assert.match(result, /harmless/)
  await gateway.stop()
  assert.deepEqual(called(gateway), ['pre_tool_call terminal', 'post_tool_call ok a text'])
})

test('a reply transformed by a plugin is delivered and stored', async (t) => {
  const body = `ctx.registerHook('transform_llm_output', ({ response_text }) => response_text.replace('1234', '****'))`
  const gateway = await withPlugin(t, body, { replies: [{ text: 'the key is 1234, keep it' }] })
  await gateway.say('which key?')
  await gateway.waitForReply('the key is ****, keep it')
  const stored = rowsIn(gateway.home, `select content from messages where role = 'assistant'`)
  assert.deepEqual(
    stored.map(({ content }) => content),
    ['the key is ****, keep it'],
  )
})
