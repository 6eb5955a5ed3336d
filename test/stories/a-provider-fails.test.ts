/**
 * Another model finishes a turn when the configured one fails.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startAnthropicServer } from '../kit/servers/anthropic-server.ts'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'

async function startWithFallback(t: TestContext, model: (call: number) => ModelReply) {
  const fallback = await startAnthropicServer({
    defaultReply: ({ lastUserText }) => ({ text: `The other one: ${lastUserText}` }),
  })
  t.after(fallback.stop)
  let calls = 0
  const gateway = await startTestGateway(t, {
    config: {
      agent: { max_retries: 0 },
      fallback_providers: [
        { provider: 'deepseek', model: 'no-key-for-it' },
        { provider: 'anthropic', model: 'claude', base_url: fallback.baseUrl, api_key: 'other-key' },
      ],
    },
    model: () => model(++calls),
  })
  return { gateway, fallback }
}

test('a refused key lets the other model answer at once, and the person is told', async (t) => {
  const { gateway, fallback } = await startWithFallback(t, (call) =>
    call === 1 ? { error: { status: 401 } } : { text: 'The first one again' },
  )
  await gateway.say('hello')
  await gateway.waitForReply('The other one: hello')
  assert.equal(fallback.requests.length, 1)
  assert.equal(fallback.requests[0]?.body['model'], 'claude')
  assert.ok(gateway.replies().some((text) => text.includes('claude (anthropic) finishes this turn')))
  await gateway.waitForLog({ event: 'model.fallback_unusable' })
  // The next turn begins with the configured model.
  await gateway.say('and now?')
  await gateway.waitForReply('The first one again')
})

test('a turn that has run tools goes on with the other model, which sees their results', async (t) => {
  const { gateway, fallback } = await startWithFallback(t, (call) =>
    call === 1
      ? { toolCalls: [{ name: 'todo', arguments: { items: [{ id: '1', content: 'think', status: 'pending' }] } }] }
      : { error: { status: 500 } },
  )
  await gateway.say('plan this')
  await gateway.waitForReply('The other one')
  assert.match(JSON.stringify(fallback.requests[0]?.body['messages']), /tool_result/)
})

test('a request that the provider calls invalid is not sent to another one', async (t) => {
  const { gateway, fallback } = await startWithFallback(t, () => ({ error: { status: 400 } }))
  await gateway.say('hello')
  await gateway.waitForEvent('agent:end')
  assert.equal(fallback.requests.length, 0)
})

test('a model that the provider does not have is replaced', async (t) => {
  const { gateway } = await startWithFallback(t, () => ({ error: { status: 404 } }))
  await gateway.say('hello')
  await gateway.waitForReply('The other one: hello')
})
