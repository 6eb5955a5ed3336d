/**
 * Several keys of one provider in auth.json: a turn goes on with another key when one is refused.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'

const keys = ['first-stored-key', 'second-stored-key', 'third-stored-key'] as const

const usedKeys = (requests: readonly RecordedRequest[]) =>
  requests.map(({ headers }) => headers.authorization?.replace('Bearer ', ''))

interface KeysOptions {
  readonly env?: string
  readonly config?: Readonly<Record<string, unknown>>
  replyTo?(request: RecordedRequest): ModelReply | undefined
}

/** The provider answers only to the keys that `refuses` does not name. */
async function startWithKeys(
  t: TestContext,
  refuses: Readonly<Record<string, ModelReply['error']>>,
  { env, config, replyTo }: KeysOptions = {},
) {
  return await startTestGateway(t, {
    config: { api_key: '', ...config },
    prepare(home) {
      const entries = keys.map((access_token, priority) => ({
        id: `k${priority}`,
        label: `key ${priority}`,
        priority,
        source: 'manual',
        access_token,
      }))
      writeFileSync(home.authFile, JSON.stringify({ version: 1, credential_pool: { openai: entries } }), {
        mode: 0o600,
      })
      if (env !== undefined) writeFileSync(home.envFile, `OPENAI_API_KEY=${env}\n`, { mode: 0o600 })
    },
    model(request) {
      const { headers, lastUserText } = request
      const error = refuses[headers.authorization?.replace('Bearer ', '') ?? '']
      return error === undefined ? (replyTo?.(request) ?? { text: `You said: ${lastUserText}` }) : { error }
    },
  })
}

test('a message is answered with the next key when the provider refuses one', async (t) => {
  const gateway = await startWithKeys(t, { [keys[0]]: { status: 401 }, [keys[1]]: { status: 402 } })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  assert.deepEqual(usedKeys(gateway.model.requests), keys)
  await gateway.say('again')
  await gateway.waitForReply('You said: again')
  assert.deepEqual(usedKeys(gateway.model.requests).slice(3), [keys[2]])
})

test('after a restart the refused keys still rest, and no key is in the log', async (t) => {
  const gateway = await startWithKeys(t, { [keys[0]]: { status: 401 } })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  await gateway.stop()
  assert.match(readFileSync(gateway.home.authFile, 'utf8'), /"last_status": "exhausted"/)
  await gateway.start()
  await gateway.say('again')
  await gateway.waitForReply('You said: again')
  assert.deepEqual(usedKeys(gateway.model.requests), [keys[0], keys[1], keys[1]])
  for (const key of keys) assert.ok(!gateway.log.join('').includes(key))
})

test('the key of the environment comes first, and only its name is stored', async (t) => {
  const gateway = await startWithKeys(
    t,
    { 'key-of-the-environment': { status: 401 } },
    { env: 'key-of-the-environment' },
  )
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  assert.deepEqual(usedKeys(gateway.model.requests), ['key-of-the-environment', keys[0]])
  await gateway.stop()
  const stored = readFileSync(gateway.home.authFile, 'utf8')
  assert.match(stored, /env:OPENAI_API_KEY/)
  assert.ok(!stored.includes('key-of-the-environment'))
})

test('the values of variables that an old auth.json has are gone when the gateway has started', async (t) => {
  const gateway = await startTestGateway(t, {
    prepare({ authFile }) {
      const old = { id: 'old', source: 'env:OPENAI_API_KEY', access_token: 'key-in-the-open', priority: 0 }
      const pool = { openai: [old], 'another-provider': [{ ...old, source: 'env:OTHER_KEY' }] }
      writeFileSync(authFile, JSON.stringify({ version: 1, credential_pool: pool }), { mode: 0o600 })
    },
  })
  const stored = readFileSync(gateway.home.authFile, 'utf8')
  assert.ok(!stored.includes('key-in-the-open'))
  assert.match(stored, /env:OPENAI_API_KEY[\s\S]*env:OTHER_KEY/)
})

test('a long rate limit changes the key at once, a short one is waited for', async (t) => {
  const gateway = await startWithKeys(t, { [keys[0]]: { status: 429, headers: { 'retry-after': '3600' } } })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  assert.deepEqual(usedKeys(gateway.model.requests), [keys[0], keys[1]])
})

test('sub-agents that work at the same time use keys of their own, and a refused one changes only its own', async (t) => {
  const gateway = await startWithKeys(
    t,
    { [keys[2]]: { status: 401 } },
    {
      config: { credential_pool_strategies: { openai: 'round_robin' } },
      replyTo: ({ body, lastUserText }) =>
        lastUserText === 'hello' && !JSON.stringify(body['messages']).includes('"tool"')
          ? {
              toolCalls: [
                { name: 'delegate_task', arguments: { tasks: [{ goal: 'part one' }, { goal: 'part two' }] } },
              ],
            }
          : undefined,
    },
  )
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  const keysOf = (text: string) => usedKeys(gateway.model.requests.filter(({ lastUserText }) => lastUserText === text))
  assert.deepEqual(keysOf('hello'), [keys[0], keys[0]])
  const parts = [keysOf('part one'), keysOf('part two')].toSorted((one, other) => one.length - other.length)
  assert.deepEqual(parts, [[keys[1]], [keys[2], keys[0]]])
})

test('a sub-agent in the background uses a key of its own, and another one when it is refused', async (t) => {
  const gateway = await startWithKeys(
    t,
    { [keys[1]]: { status: 401 } },
    {
      config: { credential_pool_strategies: { openai: 'round_robin' } },
      replyTo: ({ body, lastUserText }) =>
        lastUserText === 'hello' && !JSON.stringify(body['messages']).includes('"tool"')
          ? { toolCalls: [{ name: 'delegate_task', arguments: { goal: 'the part', background: true } }] }
          : undefined,
    },
  )
  await gateway.say('hello')
  await gateway.waitForReply(/You said: .*the part/s)
  const keysOf = (text: string) => usedKeys(gateway.model.requests.filter(({ lastUserText }) => lastUserText === text))
  assert.deepEqual(keysOf('the part'), [keys[1], keys[2]])
})
