import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, conversation, hasResult, rowsIn, terminalCall } from './support.ts'

const streaming = { streaming: { buffer_threshold: 4, edit_interval: 0 } }
const hidden = { display: { interim_assistant_messages: false } }

function says(text: string, command = 'true'): ModelReply {
  return { ...terminalCall(command), text }
}

const twoSteps = [says('I look first.'), says('Now I check again.'), { text: 'All is well.' }]

async function finalResponse(gateway: TestGateway): Promise<unknown> {
  const { context } = await gateway.waitForEvent('agent:end')
  return context['response_full']
}

test('each text before tool calls is a message above the final answer, and the answer is the last text', async (t) => {
  const gateway = await startTestGateway(t, { replies: twoSteps })
  await gateway.say('check')
  await gateway.waitForReply('All is well.')
  assert.deepEqual(gateway.replies(), ['I look first.', 'Now I check again.', 'All is well.'])
  assert.equal(await finalResponse(gateway), 'All is well.')
})

test('a text before a tool call is shown while the tool runs', async (t) => {
  const gateway = await startTestGateway(t, { replies: [says('I wait.', 'sleep 60')] })
  await gateway.say('wait')
  await gateway.waitForReply('I wait.')
  assert.equal(gateway.model.requestCount, 1)
})

test('with drafts each text grows in a message of its own', async (t) => {
  const gateway = await startTestGateway(t, { capabilities: ['edit'], config: streaming, replies: twoSteps })
  await gateway.say('check')
  await gateway.waitForEvent('agent:end')
  await gateway.until(({ text }) => text === 'All is well.')
  assert.deepEqual(gateway.replies(), ['I look first.', 'Now I check again.', 'All is well.'])
  assert.deepEqual(rowsIn(gateway.home, 'select * from drafts'), [])
})

test('with the option off only the last text is sent, also where drafts are shown', async (t) => {
  for (const capabilities of [[], ['edit']] as const) {
    const gateway = await startTestGateway(t, { capabilities, config: { ...streaming, ...hidden }, replies: twoSteps })
    await gateway.say('check')
    await gateway.until(({ text }) => text === 'All is well.')
    assert.deepEqual(gateway.replies(), ['All is well.'])
    assert.equal(await finalResponse(gateway), 'All is well.')
  }
})

test('the option can be set for one platform', async (t) => {
  const config = { display: { platforms: { fake: { interim_assistant_messages: false } } } }
  const gateway = await startTestGateway(t, { config, replies: twoSteps })
  await gateway.say('check')
  await gateway.waitForReply('All is well.')
  assert.deepEqual(gateway.replies(), ['All is well.'])
})

test('a restart during a tool neither repeats nor loses the text before it', async (t) => {
  for (const capabilities of [[], ['edit']] as const) {
    const gateway = await startTestGateway(t, {
      capabilities,
      config: streaming,
      model: (request) => (hasResult(request) ? { text: 'All is well.' } : says('I look first.', 'sleep 60')),
    })
    await gateway.say('check')
    await gateway.until(({ text }) => text === 'I look first.')
    await gateway.stop(AbortSignal.abort())
    await gateway.start()
    await gateway.until(({ text }) => text === 'All is well.')
    assert.deepEqual(gateway.replies(), ['I look first.', 'All is well.'])
  }
})

test('a text before tool calls that nothing follows is the final answer and is sent once', async (t) => {
  for (const config of [{}, hidden]) {
    const gateway = await startTestGateway(t, { config, replies: [says('All is well.'), { text: '' }] })
    await gateway.say('check')
    assert.equal(await finalResponse(gateway), 'All is well.')
    await gateway.waitForReply('All is well.')
    await gateway.say('next')
    await gateway.waitForReply('You said: next')
    assert.deepEqual(gateway.replies(), ['All is well.', 'You said: next'])
  }
})

test('the next request contains every text at its place', async (t) => {
  const gateway = await startTestGateway(t, { replies: [says('I look first.'), { text: 'All is well.' }] })
  await gateway.say('check')
  await gateway.waitForReply('All is well.')
  await gateway.say('thanks')
  const messages = conversation(await gateway.modelRequest(2)).filter((line) => !line.startsWith('tool:'))
  assert.deepEqual(messages, ['user: check', 'assistant: I look first.', 'assistant: All is well.', 'user: thanks'])
})

test('a text that a plugin may still change is not shown before the end', async (t) => {
  const { mkdirSync, writeFileSync } = await import('node:fs')
  const gateway = await startTestGateway(t, {
    replies: twoSteps,
    config: { plugins: { enabled: ['mask'] } },
    prepare: ({ root }) => {
      mkdirSync(`${root}/plugins/mask`, { recursive: true, mode: 0o700 })
      writeFileSync(`${root}/plugins/mask/plugin.yaml`, 'name: mask\nversion: 1.0.0\n', { mode: 0o600 })
      writeFileSync(
        `${root}/plugins/mask/index.ts`,
        "export function register(ctx) { ctx.registerHook('transform_llm_output', ({ response_text }) => response_text.toUpperCase()) }\n",
        { mode: 0o600 },
      )
    },
  })
  await gateway.say('check')
  await gateway.waitForReply(/all is well/i)
  assert.deepEqual(gateway.replies(), ['ALL IS WELL.'])
})

test('the OpenAI-compatible API answers with the last text, and streams the earlier ones before it', async (t) => {
  const gateway = await startTestGateway(t, { replies: [...twoSteps, ...twoSteps] })
  const messages = [{ role: 'user', content: 'check' }]
  const whole: unknown = await (await gateway.post('/v1/chat/completions', { messages })).json()
  assert.equal(at(whole, 'choices', 0, 'message', 'content'), 'All is well.')
  const streamed = await (await gateway.post('/v1/chat/completions', { messages, stream: true })).text()
  const text = streamed
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => at(JSON.parse(line.slice('data: '.length)), 'choices', 0, 'delta', 'content') ?? '')
    .join('')
  assert.equal(text, 'I look first.\n\nNow I check again.\n\nAll is well.')
})
