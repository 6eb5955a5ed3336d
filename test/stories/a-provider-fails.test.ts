/**
 * Another model finishes a turn when the configured one fails.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { startAnthropicServer } from '../kit/servers/anthropic-server.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'

const asksForSummary = ({ lastUserText }: RecordedRequest) => lastUserText.includes('Write the record now')

interface FallbackOptions {
  /** The keys of the usable entry of `fallback_providers`. */
  readonly entry?: Readonly<Record<string, unknown>>
  readonly config?: Readonly<Record<string, unknown>>
}

async function startWithFallback(
  t: TestContext,
  model: (call: number, request: RecordedRequest) => ModelReply,
  { entry, config }: FallbackOptions = {},
) {
  const fallback = await startAnthropicServer({
    defaultReply: (request) => ({
      text: asksForSummary(request) ? 'the record of it' : `The other one: ${request.lastUserText}`,
    }),
  })
  t.after(fallback.stop)
  let calls = 0
  const gateway = await startTestGateway(t, {
    config: {
      ...config,
      agent: { max_retries: 0 },
      fallback_providers: [
        { provider: 'deepseek', model: 'no-key-for-it' },
        { provider: 'anthropic', model: 'claude', base_url: fallback.baseUrl, api_key: 'other-key', ...entry },
      ],
    },
    model: (request) => model(++calls, request),
  })
  return { gateway, fallback }
}

test('a refused key lets the other model answer until the key can be used again, and the person is told once', async (t) => {
  const { gateway, fallback } = await startWithFallback(t, (call) =>
    call === 1 ? { error: { status: 401 } } : { text: 'The first one again' },
  )
  await gateway.say('hello')
  await gateway.waitForReply('The other one: hello')
  assert.equal(fallback.requests.length, 1)
  assert.equal(fallback.requests[0]?.body['model'], 'claude')
  await gateway.waitForLog({ event: 'model.fallback_unusable' })
  await gateway.say('and now?')
  await gateway.waitForReply('The other one: and now?')
  assert.equal(gateway.model.requests.length, 1)
  assert.equal(gateway.replies().filter((text) => text.includes('claude (anthropic) answers meanwhile')).length, 1)
  // Resets the state like `hermes auth reset` does.
  const { authFile } = gateway.home
  writeFileSync(
    authFile,
    readFileSync(authFile, 'utf8').replaceAll(/"(cooldown_until|last_error_reset_at)": [\d.]+/g, '"$1": 0'),
  )
  await gateway.say('and later?')
  await gateway.waitForReply('The first one again')
})

test('a provider that fails for another reason is asked again with the next message', async (t) => {
  const { gateway } = await startWithFallback(t, (call) =>
    call === 1 ? { error: { status: 500 } } : { text: 'The first one again' },
  )
  await gateway.say('hello')
  await gateway.waitForReply('The other one: hello')
  assert.ok(gateway.replies().some((text) => text.includes('claude (anthropic) finishes this turn')))
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

test('the other model finishes the work of a sub-agent, and the turn keeps its own', async (t) => {
  const { gateway, fallback } = await startWithFallback(t, (call, { lastUserText }) => {
    if (lastUserText === 'the part') return { error: { status: 500 } }
    return call === 1
      ? { toolCalls: [{ name: 'delegate_task', arguments: { goal: 'the part' } }] }
      : { text: 'The whole' }
  })
  await gateway.say('hello')
  await gateway.waitForReply('The whole')
  assert.deepEqual(
    fallback.requests.map(({ lastUserText }) => lastUserText),
    ['the part'],
  )
  assert.match(JSON.stringify(gateway.model.requests.at(-1)?.body['messages']), /The other one: the part/)
})

test('a sub-agent begins with the model that the turn has changed to', async (t) => {
  const { gateway, fallback } = await startWithFallback(t, () => ({ error: { status: 500 } }))
  fallback.enqueue({ toolCalls: [{ name: 'delegate_task', arguments: { goal: 'the part' } }] })
  await gateway.say('hello')
  await gateway.waitForReply('The other one')
  assert.deepEqual(
    fallback.requests.map(({ lastUserText }) => lastUserText),
    ['hello', 'the part', 'hello'],
  )
  assert.equal(gateway.model.requests.length, 1)
})

test('a conversation that is too long for the other model is compressed before it goes on', async (t) => {
  const filler = 'and more words of it '.repeat(40)
  const { gateway, fallback } = await startWithFallback(
    t,
    (_call, { lastUserText }) => {
      const told = /^message \d/.exec(lastUserText)?.[0]
      return told === undefined ? { error: { status: 401 } } : { text: `Heard ${told} ${filler}` }
    },
    { entry: { context_length: 4_150 }, config: { compression: { protect_last_n: 1, target_ratio: 0.4 } } },
  )
  for (let at = 1; at <= 8; at++) {
    await gateway.say(`message ${at} ${filler}`)
    await gateway.waitForReply(`Heard message ${at}`)
  }
  assert.ok(!gateway.model.requests.some(asksForSummary))
  await gateway.say('and now?')
  await gateway.waitForReply('The other one: and now?')
  assert.deepEqual(fallback.requests.map(asksForSummary), [true, false])
  const [, answered] = fallback.requests.map(({ body }) => JSON.stringify(body['messages']))
  assert.ok(answered?.includes('the record of it') && !answered.includes('message 3'))
})
