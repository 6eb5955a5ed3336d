/**
 * What plugins of a home hear of a conversation, and what people get where plugins decide.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'
import { hasResult, rowsIn, terminalCall } from './support.ts'

function withPlugin(t: TestContext, body: string, options: TestGatewayOptions = {}): Promise<TestGateway> {
  return startTestGateway(t, {
    ...options,
    config: { plugins: { enabled: ['witness'] }, ...options.config },
    prepare: (home) => writeFiles(home.plugins, pluginFiles('witness', body)),
  })
}

/** A plugin that writes down each hook of these, with the keys that are named. */
function witness(...hooks: readonly (readonly [name: string, ...keys: string[]])[]): string {
  const lines = hooks.map(
    ([name, ...keys]) =>
      `ctx.registerHook('${name}', (payload) => void ctx.log.info({}, ['heard ${name}', ...${JSON.stringify(keys)}.map((key) => payload[key])].join(' ')))`,
  )
  return lines.join('\n')
}

function heard({ log }: TestGateway): string[] {
  return log.flatMap((line) => /"msg":"heard ([^"]*)"/.exec(line)?.[1] ?? [])
}

const turnHooks = witness(
  ['on_session_start', 'platform', 'route'],
  ['pre_llm_call', 'is_first_turn', 'user_message'],
  ['post_llm_call', 'assistant_response'],
  ['on_session_end', 'completed', 'interrupted'],
)

test('a conversation is told in its order; a session begins once', async (t) => {
  const gateway = await withPlugin(t, turnHooks, { replies: [{ text: 'one' }, { text: 'two' }] })
  await gateway.say('first')
  await gateway.waitForReply('one')
  await gateway.waitForLog('heard on_session_end')
  await gateway.say('second')
  await gateway.waitForReply('two')
  await gateway.stop()
  assert.deepEqual(heard(gateway), [
    'on_session_start fake fake_dm',
    'pre_llm_call true first',
    'post_llm_call one',
    'on_session_end true false',
    'pre_llm_call false second',
    'post_llm_call two',
    'on_session_end true false',
  ])
})

test('a turn that the gateway cuts off has its end told, and the session that it began is not begun again', async (t) => {
  const gateway = await withPlugin(t, turnHooks, {
    config: { plugins: { enabled: ['witness'] }, agent: { drain_timeout: 0.1 } },
    replies: [terminalCall('echo once'), { text: 'I was cut off', hang: 'stream', hangAfter: 2 }],
    model: (request) => ({ text: hasResult(request) ? 'It ran once.' : 'I know of no result.' }),
  })
  await gateway.say('do it')
  await gateway.modelRequest(1)
  await gateway.stop()
  assert.deepEqual(heard(gateway), [
    'on_session_start fake fake_dm',
    'pre_llm_call true do it',
    'on_session_end false true',
  ])
  await gateway.start()
  await gateway.waitForReply('It ran once.')
  await gateway.stop()
  assert.deepEqual(heard(gateway).slice(3), [
    'pre_llm_call true do it',
    'post_llm_call It ran once.',
    'on_session_end true false',
  ])
})

test('who leaves in the middle of a turn, without waiting for anything, has its end told all the same', async (t) => {
  const gateway = await withPlugin(t, turnHooks, { replies: [{ text: 'one two three', hang: 'stream', hangAfter: 2 }] })
  await gateway.say('tell me')
  await gateway.modelRequest(0)
  await gateway.stop(AbortSignal.abort())
  assert.deepEqual(heard(gateway).slice(2), ['on_session_end false true'])
})

test('/stop ends a turn as interrupted, and there was no answer', async (t) => {
  const gateway = await withPlugin(t, turnHooks, { replies: [{ text: 'one two three', hang: 'stream', hangAfter: 2 }] })
  await gateway.say('tell me')
  await gateway.modelRequest(0)
  await gateway.say('/stop')
  await gateway.waitForReply('Stopped.')
  await gateway.waitForLog('heard on_session_end')
  assert.deepEqual(heard(gateway).slice(2), ['on_session_end false true'])
})

test('a guardrail that refuses to ask the model gives people its reason, and no model is asked', async (t) => {
  const body = `ctx.registerGuardrail('hours', 'model', () => 'The office is closed until nine.')`
  const gateway = await withPlugin(t, `${body}\n${turnHooks}`)
  await gateway.say('hello')
  await gateway.waitForReply(/^The office is closed until nine\.$/)
  assert.equal(gateway.model.requests.length, 0)
  await gateway.waitForLog('heard on_session_end false false')
  const [turn] = rowsIn(gateway.home, 'select state, reason from turns')
  assert.deepEqual([turn?.['state'], turn?.['reason']], ['failed', 'rejected by the guardrail hours'])
})

test('a plugin that fails around the call of the model ends the turn at once, and people read which one it was', async (t) => {
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
    await gateway.waitForReply(
      /\(middleware\/failed\).*"cap" of the plugin "witness", with “no prices”\. .*hermes plugins disable/,
    )
    await gateway.waitForLog('heard on_session_end false false')
    const [turn] = rowsIn(gateway.home, 'select state from turns')
    assert.equal(turn?.['state'], 'failed', what)
    assert.ok(gateway.model.requests.length <= 1, what)
    await gateway.stop()
  }
})

test('of a tool the model reads whether a plugin has failed or the tool', async (t) => {
  const body = `ctx.registerIntercept('cap', 'tool_execution', () => { throw new Error('no prices') })`
  const gateway = await withPlugin(t, body, { replies: [terminalCall('true'), { text: 'done' }] })
  await gateway.say('clean up')
  await gateway.waitForReply('done')
  const result = JSON.stringify((await gateway.modelRequest(1)).body)
  assert.ok(result.includes(String.raw`\"cap\\\" of the plugin \\\"witness\\\" failed: no prices`), result)
})

test('a command is judged and run as plugins have rewritten it', async (t) => {
  const body = `
    ctx.registerMiddleware('tool_request', ({ tool_name, args }) =>
      tool_name === 'terminal' ? { args: { ...args, command: 'echo harmless' }, source: 'witness' } : null)
    ctx.registerHook('post_tool_call', ({ status, result }) =>
      void ctx.log.info({}, ['heard post_tool_call', status, typeof result === 'string' ? 'a text' : 'something else'].join(' ')))
    ${witness(['pre_tool_call', 'tool_name'])}`
  const gateway = await withPlugin(t, body, {
    replies: [terminalCall('rm -rf /'), { text: 'done' }],
  })
  await gateway.say('clean up')
  await gateway.waitForReply('done')
  const result = JSON.stringify((await gateway.modelRequest(1)).body)
  assert.match(result, /harmless/)
  await gateway.stop()
  assert.deepEqual(heard(gateway), ['pre_tool_call terminal', 'post_tool_call ok a text'])
})

test('what a plugin transforms is what people read and what is stored', async (t) => {
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
