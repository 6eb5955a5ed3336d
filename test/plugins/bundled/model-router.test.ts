/**
 * The router in a whole gateway: an unsure answer of the small model is asked for once more, in each wire format.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { uncertaintyReason } from '../../../plugins/model-router/confidence.ts'
import { parseRouterSettings } from '../../../plugins/model-router/settings.ts'
import { asArray, asRecord } from '../../../src/sdk.ts'
import { startAnthropicServer } from '../../kit/servers/anthropic-server.ts'
import type { ModelReply, RecordedRequest } from '../../kit/servers/model-script.ts'
import type { TestGatewayOptions } from '../../kit/start-gateway.ts'
import { logRecordsWith, startWithBundledPlugins } from './support.ts'

const settings = { small_models: ['test-*'], large_model: 'large', max_share_per_day: 1, instruction: 'Once more.' }
const unsure: ModelReply = { text: 'I’m not sure, perhaps 41.' }

/** The small model is unsure, the large one is not. */
function answers({ body }: RecordedRequest): ModelReply {
  return body['model'] === 'large' ? { text: 'It is 42.', usage: { input: 30, output: 5 } } : unsure
}

function withRouter(t: TestContext, more: Readonly<Record<string, unknown>> = {}, options: TestGatewayOptions = {}) {
  return startWithBundledPlugins(t, { 'model-router': { ...settings, ...more } }, { model: answers, ...options })
}

const ends: Readonly<Record<string, readonly unknown[]>> = {
  openai: [
    { role: 'user', content: 'six by seven?' },
    { role: 'assistant', content: 'I’m not sure, perhaps 41.' },
    { role: 'user', content: 'Once more.' },
  ],
  'openai-responses': [
    { role: 'user', content: 'six by seven?' },
    { role: 'assistant', content: 'I’m not sure, perhaps 41.' },
    { role: 'user', content: 'Once more.' },
  ],
}

for (const [provider, expected] of Object.entries(ends)) {
  test(`an uncertain response is escalated to the large model together with the first response (${provider})`, async (t) => {
    const gateway = await withRouter(t, {}, { config: { provider } })
    await gateway.say('six by seven?')
    await gateway.waitForReply('It is 42.')
    assert.deepEqual(gateway.replies(), ['It is 42.'])
    const { body } = await gateway.modelRequest(1)
    assert.equal(body['model'], 'large')
    assert.deepEqual(asArray(body['messages'] ?? body['input']).slice(-3), expected)
    assert.equal(gateway.model.requests.length, 2)
  })
}

test('with Anthropic, fields that the large model rejects can be removed from the escalated request', async (t) => {
  const model = await startAnthropicServer({ defaultReply: answers })
  t.after(() => model.stop())
  const more = { large_model_fields: { thinking: null, max_tokens: 99 } }
  const config = { provider: 'anthropic', base_url: model.baseUrl, reasoning_effort: 'low' }
  const gateway = await withRouter(t, more, { config })
  await gateway.say('six by seven?')
  await gateway.waitForReply('It is 42.')
  const [{ body: small }, { body: large }] = [await model.request(0), await model.request(1)]
  assert.ok('thinking' in small)
  assert.deepEqual([large['model'], large['max_tokens'], 'thinking' in large], ['large', 99, false])
  assert.deepEqual(asArray(large['messages']).slice(-2), [
    { role: 'assistant', content: [{ type: 'text', text: 'I’m not sure, perhaps 41.' }] },
    { role: 'user', content: [{ type: 'text', text: 'Once more.' }] },
  ])
})

test('both calls are recorded, the second as escalated with the reason, and the counts survive a restart', async (t) => {
  const gateway = await withRouter(t)
  await gateway.say('six by seven?')
  await gateway.waitForReply('It is 42.')
  await gateway.waitForLog('model_router.escalated')
  const lines = logRecordsWith(gateway, 'escalated_to_large')
  const recorded = lines.map((line) => [line['model'], line['escalated_to_large'], line['reason'], line['route']])
  assert.deepEqual(recorded, [
    ['test-model', false, undefined, 'fake_dm'],
    ['large', true, "phrase: i'm not sure", 'fake_dm'],
  ])
  assert.equal(asRecord(lines[1]?.['usage'])['input_tokens'], 30)
  assert.equal(lines[0]?.['turn_id'], lines[1]?.['turn_id'])
  await gateway.stop()
  await gateway.start()
  await gateway.say('/router')
  await gateway.waitForReply(/`large`, at most 100 %[\s\S]*: 1 responses of small models, 1 escalated$/)
})

test('tool calls, truncated responses, certain responses, other models and other routes are not escalated', async (t) => {
  const quiet: readonly [string, TestGatewayOptions, Readonly<Record<string, unknown>>][] = [
    ['tool', { replies: [{ ...unsure, toolCalls: [{ name: 'todo', arguments: {} }] }, { text: 'Sure.' }] }, {}],
    ['cut', { replies: [{ ...unsure, finishReason: 'length' }] }, {}],
    ['sure', { replies: [{ text: 'It is 42.' }] }, {}],
    ['model', { replies: [unsure] }, { small_models: ['other'] }],
    ['route', { replies: [unsure] }, { routes: ['slack_*', 'fake_group'] }],
    ['empty', { replies: [unsure] }, { large_model: '' }],
  ]
  for (const [name, options, more] of quiet) {
    const gateway = await withRouter(t, more, options)
    await gateway.say('hello')
    await gateway.waitForReply(/./)
    assert.ok(
      gateway.model.requests.every(({ body }) => body['model'] !== 'large'),
      name,
    )
    await gateway.stop()
  }
})

test('short responses and configured patterns cause an escalation', () => {
  const own = parseRouterSettings({ patterns: ['\\bperhaps\\b'], min_chars: 4, phrases: ['I don’t know'] })
  assert.equal(uncertaintyReason('No', own), 'short')
  assert.equal(uncertaintyReason('Perhaps it is.', own), 'pattern: \\bperhaps\\b')
  assert.equal(uncertaintyReason("i DON'T know that", own), "phrase: i don't know")
  assert.equal(uncertaintyReason('It is 42.', own), undefined)
})

test('no more than the configured share per day is escalated', async (t) => {
  const gateway = await withRouter(t, { max_share_per_day: 0.5 })
  for (const [number, expected] of ['It is 42.', 'perhaps 41', 'It is 42.', 'perhaps 41'].entries()) {
    await gateway.say(`question ${number}`, { chat: `chat ${number}` })
    await gateway.waitForReply(expected, `chat ${number}`)
  }
  await gateway.say('/router', { chat: 'last' })
  await gateway.waitForReply('4 responses of small models, 2 escalated, 2 uncertain but not escalated', 'last')
})

test('when the large model fails, the first response is used and the failure is counted', async (t) => {
  const gateway = await withRouter(
    t,
    {},
    {
      model: ({ body }) => (body['model'] === 'large' ? { error: { status: 404 } } : unsure),
    },
  )
  await gateway.say('six by seven?')
  await gateway.waitForReply('perhaps 41')
  await gateway.waitForLog('model_router.escalation_failed')
  await gateway.say('/router')
  await gateway.waitForReply('1 escalated, 1 of these failed')
})

test('an invalid setting is named and prevents loading; after a later edit the previous settings stay active', async (t) => {
  const broken = await withRouter(t, { patterns: ['('] })
  const [report] = broken.current().status().plugins
  assert.match(report?.reason ?? '', /settings\.patterns, number 1/)

  const gateway = await withRouter(t)
  const entries = { 'model-router': { settings: { ...settings, max_share_per_day: 7 } } }
  gateway.configure({ plugins: { enabled: ['model-router'], entries } })
  await gateway.post('/api/plugins/reload', {})
  await gateway.say('six by seven?')
  await gateway.waitForReply('It is 42.')
  await gateway.waitForLog(/model_router\.settings_rejected.*max_share_per_day/)
})
