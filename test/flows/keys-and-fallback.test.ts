/**
 * The contract of keys and fallback for each API that a provider can speak: what a failure of a local vendor server means for the
 * key, for the model and for the next turn.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { after, before, describe, type TestContext, test } from 'node:test'
import { z } from 'zod'
import { type AgentConfig, agentConfig } from '../../src/agent/config.ts'
import { createModelCallMonitor } from '../../src/agent/models/model-call-monitor.ts'
import { ModelError } from '../../src/agent/models/provider.ts'
import { createAgentModels } from '../../src/flows/models/agent-models.ts'
import { createModelKeys } from '../../src/flows/models/model-keys.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { settingsWith, type TestTool } from '../agent/in-memory-deps.ts'
import { agentDeps, runTestAgent, turnInfo } from '../agent/run-test-agent.ts'
import { startAnthropicServer } from '../kit/servers/anthropic-server.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import type { ModelServer } from '../kit/servers/sse.ts'
import { tempHome } from '../kit/temp-home.ts'

interface Api {
  readonly provider: 'openai' | 'openai-responses' | 'anthropic'
  startServer(): Promise<ModelServer>
  /** What the vendor sends beside a 429 whose limit is reset in half an hour. */
  reset(): Readonly<Record<string, string>>
  /** The API that takes over. */
  readonly other: Api['provider']
}

const halfAnHourMs = 1_800_000

const apis: readonly Api[] = [
  {
    provider: 'openai',
    startServer: startOpenAiServer,
    reset: () => ({ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '30m0s' }),
    other: 'anthropic',
  },
  {
    provider: 'openai-responses',
    startServer: startOpenAiServer,
    reset: () => ({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Date.now() + halfAnHourMs) }),
    other: 'openai',
  },
  {
    provider: 'anthropic',
    startServer: startAnthropicServer,
    reset: () => ({
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': new Date(Date.now() + halfAnHourMs).toISOString(),
    }),
    other: 'openai-responses',
  },
]

interface Failure {
  readonly name: string
  reply(api: Api): ModelReply
  /** Calls with the first key; the next key is used after them. Absent: another key does not help. */
  readonly callsBeforeRotation?: number
  /** Calls of a sole key before the other model is used. */
  readonly callsBeforeFallback: number
  /** How long the key rests, ms; 0 for a failure that does not concern it. */
  readonly restsMs: number
  /** `agent.max_retries` and `agent.model_timeout`, where the test would take long without them. */
  readonly limits?: { readonly max_retries: number; readonly model_timeout: number }
}

const minute = 60_000

const failures: readonly Failure[] = [
  ...[401, 403].map((status) => ({
    name: `${status}`,
    reply: () => ({ error: { status } }),
    callsBeforeRotation: 1,
    callsBeforeFallback: 1,
    restsMs: 5 * minute,
  })),
  {
    name: '402',
    reply: () => ({ error: { status: 402 } }),
    callsBeforeRotation: 1,
    callsBeforeFallback: 1,
    restsMs: 60 * minute,
  },
  {
    name: '429 without a reset time',
    reply: () => ({ error: { status: 429 } }),
    callsBeforeRotation: 2,
    callsBeforeFallback: 2,
    restsMs: 60 * minute,
  },
  {
    name: '429 with retry-after',
    reply: () => ({ error: { status: 429, headers: { 'retry-after': '1800' } } }),
    callsBeforeRotation: 1,
    callsBeforeFallback: 1,
    restsMs: halfAnHourMs,
  },
  {
    name: '429 with the reset time of the vendor',
    reply: (api) => ({ error: { status: 429, headers: { ...api.reset() } } }),
    callsBeforeRotation: 1,
    callsBeforeFallback: 1,
    restsMs: halfAnHourMs,
  },
  { name: '404', reply: () => ({ error: { status: 404 } }), callsBeforeFallback: 1, restsMs: 0 },
  { name: '500', reply: () => ({ error: { status: 500 } }), callsBeforeFallback: 4, restsMs: 0 },
  { name: '503', reply: () => ({ error: { status: 503, body: '<html>' } }), callsBeforeFallback: 4, restsMs: 0 },
  { name: 'garbage', reply: () => ({ raw: { body: 'data: {"no\n\n' } }), callsBeforeFallback: 3, restsMs: 0 },
  {
    name: 'silence',
    reply: () => ({ hang: 'headers' }),
    callsBeforeFallback: 2,
    restsMs: 0,
    // Long enough for an answer of a local server on a busy machine.
    limits: { max_retries: 1, model_timeout: 1.5 },
  },
]

interface ModelsOptions extends Pick<Failure, 'limits'> {
  readonly api: Api
  readonly server: ModelServer
  readonly keys: readonly string[]
  readonly fallback?: ModelServer
  /** `fallback_providers` names the configured model before and after the other one. */
  readonly namesItself?: boolean
}

/** The models of a home whose provider has these keys, and the turns that use them. */
function startModels(t: TestContext, { api, server, keys, fallback, limits, namesItself = false }: ModelsOptions) {
  const home = createHomeLayout(tempHome(t))
  const entries = keys.map((key, priority) => ({ id: key, source: 'manual', access_token: key, priority }))
  writeFileSync(home.authFile, JSON.stringify({ credential_pool: { [api.provider]: entries } }), { mode: 0o600 })
  const entry = fallback && { provider: api.other, model: 'other', base_url: fallback.baseUrl, api_key: 'other-key' }
  const itself = namesItself ? [{ provider: api.provider, model: 'first' }] : []
  const parsed = z.object(agentConfig).parse({
    provider: api.provider,
    model: 'first',
    providers: { [api.provider]: { base_url: server.baseUrl } },
    fallback_providers: [...itself, ...(entry === undefined ? [] : [entry]), ...itself],
  })
  const settings = (): AgentConfig => settingsWith({ ...parsed, agent: { ...parsed.agent, ...limits } })
  const modelCalls = createModelCallMonitor({ log: silentLog })
  const models = createAgentModels({
    home,
    settings,
    environment: () => ({ values: {}, file: {}, process: {}, originOf: () => undefined, issues: [], warnings: [] }),
    modelCalls,
    auxiliaryCalls: agentDeps(),
    openModelKeys: async (selection) =>
      createModelKeys({
        picturesFolder: home.pictures,
        path: home.authFile,
        ...{ settings, selection, modelCalls, clock: Date.now, random: () => 0, log: silentLog },
        secrets: { set: () => undefined },
      }),
    log: silentLog,
  })
  t.after(models.close)
  return {
    models,
    async turn(tools: Readonly<Record<string, TestTool>> = {}) {
      const chosen = await models.model()
      const { name: provider, apiMode, baseUrl } = chosen.provider
      const { result } = runTestAgent([], tools, {
        turn: { ...turnInfo, model: chosen.model, provider, apiMode, baseUrl },
        provider: chosen.provider,
        settings: settings(),
        ...(fallback && { fallBack: (failure) => models.fallback(chosen, failure) }),
      })
      return { text: (await result).text, restsMs: (chosen.provider.restsUntil?.() ?? 0) - Date.now() }
    },
  }
}

const keyOf = ({ headers }: RecordedRequest) => headers['x-api-key'] ?? headers.authorization?.replace('Bearer ', '')

test('a revoked key is never sent: a turn says that the key is missing', async (t) => {
  const home = createHomeLayout(tempHome(t))
  const entry = { id: 'a', source: 'manual', access_token: 'revoked-key', last_status: 'dead' }
  writeFileSync(home.authFile, JSON.stringify({ credential_pool: { openai: [entry] } }), { mode: 0o600 })
  const selection = { provider: 'openai', model: 'm', baseUrl: '', apiKey: '', variables: {} }
  const keys = createModelKeys({
    ...{ path: home.authFile, picturesFolder: home.pictures, settings: () => ({ credential_pool_strategies: {} }) },
    ...{ selection: () => selection, clock: Date.now, random: () => 0, log: silentLog },
    modelCalls: createModelCallMonitor({ log: silentLog }),
    secrets: { set: () => undefined },
  })
  t.after(keys.close)
  assert.equal(keys.hasKey(selection), false)
  assert.equal(keys.withKey(selection).apiKey, '')
})

describe('keys and fallback', { concurrency: apis.length }, () => {
  for (const api of apis)
    describe(api.provider, { concurrency: 1 }, () => {
      let server: ModelServer
      let other: ModelServer
      before(async () => {
        server = await api.startServer()
        other = await (api.other === 'anthropic' ? startAnthropicServer() : startOpenAiServer())
        other.setDefault(() => ({ text: 'the other one' }))
      })
      after(async () => {
        await server.stop()
        await other.stop()
      })

      for (const { name, reply, callsBeforeRotation, callsBeforeFallback, restsMs, limits } of failures) {
        const own = limits === undefined ? {} : { limits }
        test(`${name}: the key of the next call is the right one`, async (t) => {
          const first = server.requestCount
          const failing = reply(api)
          const fails = (request: RecordedRequest) =>
            callsBeforeRotation === undefined ? server.requestCount === first + 1 : keyOf(request) === 'one'
          server.setDefault((request) => (fails(request) ? failing : { text: 'hello' }))
          const { turn } = startModels(t, { api, server, keys: ['one', 'two'], ...own })
          if (name === '404')
            await assert.rejects(turn(), (error) => error instanceof ModelError && error.status === 404)
          else assert.equal((await turn()).text, 'hello')
          const expected =
            name === '404'
              ? ['one']
              : [...Array.from({ length: callsBeforeRotation ?? 1 }, () => 'one'), restsMs === 0 ? 'one' : 'two']
          assert.deepEqual(server.requests.slice(first).map(keyOf), expected)
        })

        test(`${name}: another model finishes the turn, and the sole key rests as long as it must`, async (t) => {
          const first = server.requestCount
          const failing = reply(api)
          server.setDefault(() => failing)
          const { turn, models } = startModels(t, { api, server, keys: ['one'], fallback: other, ...own })
          assert.equal((await turn()).text, 'the other one')
          assert.equal(server.requestCount - first, callsBeforeFallback)
          const { provider } = await models.model()
          const left = (provider.restsUntil?.() ?? 0) - Date.now()
          // The only key that is limited without a reset time rests for a minute.
          const expected = name === '429 without a reset time' ? minute : restsMs
          if (expected === 0) assert.ok(left <= 0)
          else assert.ok(left > expected - minute && left <= expected, `${left} of ${expected}`)
        })
      }

      test('the other API sees the results of the tools that have run', async (t) => {
        const call = { name: 'look', arguments: {} }
        server.setDefault(({ body }) =>
          JSON.stringify(body).includes('blue') ? { error: { status: 401 } } : { text: 'I look', toolCalls: [call] },
        )
        const first = other.requestCount
        const { turn } = startModels(t, { api, server, keys: ['one'], fallback: other })
        assert.equal((await turn({ look: async () => 'it is blue' })).text, 'the other one')
        const [request] = other.requests.slice(first)
        assert.match(JSON.stringify(request?.body), /I look.*it is blue/)
      })

      test('entries that name the failed model again make no loop', async (t) => {
        const [first, firstOther] = [server.requestCount, other.requestCount]
        server.setDefault(() => ({ error: { status: 404 } }))
        other.setDefault(() => ({ error: { status: 404 } }))
        const { turn } = startModels(t, { api, server, keys: ['one'], fallback: other, namesItself: true })
        await assert.rejects(turn(), (error) => error instanceof ModelError && error.status === 404)
        other.setDefault(() => ({ text: 'the other one' }))
        assert.deepEqual([server.requestCount - first, other.requestCount - firstOther], [1, 1])
      })

      test('a model that cannot use tools finishes the turn without them', async (t) => {
        server.setDefault(({ body }) =>
          body['tools'] === undefined
            ? { text: 'without tools' }
            : { error: { status: 400, body: { error: { message: 'registry/first does not support tools' } } } },
        )
        const first = server.requestCount
        const { turn } = startModels(t, { api, server, keys: ['one'] })
        assert.equal((await turn({ look: async () => 'it is blue' })).text, 'without tools')
        assert.equal(server.requestCount - first, 2)
      })
    })
})
