/**
 * `GET /metrics` tells a monitoring server how the gateway is, and nothing of what people write.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { terminalCall } from './support.ts'

const token = 'a-token-for-metrics-only'

async function scrape(
  gateway: TestGateway,
  bearer = token,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${gateway.current().url}/metrics`, { headers: { authorization: `Bearer ${bearer}` } })
  return { status: response.status, text: await response.text() }
}

function sample(text: string, name: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

test('messages, turns, tool calls, model calls and tokens are counted by platform and result', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { http: { port: 0, metrics: true, metrics_token: token } },
    replies: [terminalCall('echo working'), { text: 'the answer' }],
  })
  const before = await scrape(gateway)
  assert.equal(before.status, 200)
  assert.equal(sample(before.text, 'hermes_messages_received_total{platform="fake"}'), undefined)
  await gateway.say('the question')
  await gateway.waitForLog({ event: 'outbox.delivered' })
  const { text } = await scrape(gateway)
  const expected = {
    'hermes_messages_received_total{platform="fake"}': 1,
    'hermes_messages_sent_total{platform="fake",result="sent"}': 1,
    'hermes_turns_total{platform="fake",result="done"}': 1,
    'hermes_turn_duration_seconds_count{platform="fake"}': 1,
    'hermes_tool_calls_total{tool="terminal",result="ok"}': 1,
    'hermes_tool_call_duration_seconds_count{tool="terminal"}': 1,
    'hermes_platform_connected{platform="fake"}': 1,
    'hermes_turns_active{state="running"}': 0,
    'hermes_queue_length{queue="inbox"}': 0,
    'hermes_queue_length{queue="outbox"}': 0,
    'hermes_queue_oldest_seconds{queue="inbox"}': 0,
  }
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, sample(text, name)])), expected)
  assert.match(text, /hermes_model_calls_total\{provider="[^"]+",model="[^"]+",result="ok"\} 2/)
  assert.match(text, /hermes_model_tokens_total\{provider="[^"]+",model="[^"]+",kind="input"\} [1-9]/)
  assert.match(text, /^process_resident_memory_bytes [1-9]/m)
  for (const line of text.trim().split('\n')) assert.match(line, /^(# (HELP|TYPE) \w+ .+|\w+(\{.+\})? -?[0-9.e+-]+)$/)
})

test('nothing that people, models or tools write is in the metrics', async (t) => {
  const canaries = ['canary-of-the-question', 'canary-of-the-command', 'canary-of-the-answer']
  const [question = '', command = '', answer = ''] = canaries
  const gateway = await startTestGateway(t, {
    config: { http: { port: 0, metrics: true, metrics_token: token } },
    replies: [terminalCall(`echo ${command}`), { text: answer }],
  })
  await gateway.say(question)
  await gateway.waitForLog({ event: 'outbox.delivered' })
  const { text } = await scrape(gateway)
  assert.ok(sample(text, 'hermes_turns_total{platform="fake",result="done"}') === 1)
  for (const canary of canaries) assert.ok(!text.includes(canary), canary)
  assert.ok(!text.includes(gateway.current().token()))
})

test('the metrics have a token of their own, which permits nothing else', async (t) => {
  const gateway = await startTestGateway(t, { config: { http: { port: 0, metrics: true, metrics_token: token } } })
  const { url, token: owner } = gateway.current()
  assert.equal((await scrape(gateway, owner())).status, 401)
  assert.equal((await fetch(`${url}/metrics`)).status, 401)
  const status = await fetch(`${url}/api/status`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(status.status, 401)
})

test('without a token of their own the metrics take that of the gateway', async (t) => {
  const gateway = await startTestGateway(t, { config: { http: { port: 0, metrics: true } } })
  assert.equal((await scrape(gateway, gateway.current().token())).status, 200)
})

test('metrics are off by default', async (t) => {
  const gateway = await startTestGateway(t)
  assert.equal((await scrape(gateway, gateway.current().token())).status, 404)
})
