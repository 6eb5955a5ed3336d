/**
 * The models for work beside the conversation, against local servers.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { agentConfig } from '../../../src/agent/config.ts'
import type { AuxiliaryTask } from '../../../src/agent/models/auxiliary.ts'
import { createModelCallMonitor } from '../../../src/agent/models/model-call-monitor.ts'
import { createAgentModels } from '../../../src/flows/models/agent-models.ts'
import { createModelKeys } from '../../../src/flows/models/model-keys.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { AuxiliaryCall } from '../../../src/sessions/auxiliary-calls.ts'
import { settingsWith } from '../../agent/in-memory-deps.ts'
import { agentDeps, turnInfo } from '../../agent/run-test-agent.ts'
import { startAnthropicServer } from '../../kit/servers/anthropic-server.ts'
import type { ModelReply } from '../../kit/servers/model-script.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { tempHome } from '../../kit/temp-home.ts'

type Settings = Readonly<Record<string, unknown>>

/** The server `main` answers for the conversations, the server `other` speaks another API. */
async function startModels(
  t: TestContext,
  {
    main: mainReply,
    other: otherReply,
    settings,
    stored,
    failsToRecord = false,
  }: {
    readonly main?: ModelReply
    readonly other?: ModelReply | ((key: string) => ModelReply)
    settings?(urls: { readonly main: string; readonly other: string }): Settings
    /** The keys of anthropic in auth.json. */
    readonly stored?: readonly string[]
    readonly failsToRecord?: boolean
  },
) {
  const main = await startOpenAiServer({ defaultReply: () => mainReply ?? { text: 'from main' } })
  t.after(main.stop)
  const other = await startAnthropicServer({
    defaultReply: ({ headers }) =>
      typeof otherReply === 'function'
        ? otherReply(String(headers['x-api-key']))
        : (otherReply ?? { text: 'from the other one' }),
  })
  t.after(other.stop)
  const parsed = z.object(agentConfig).parse({
    model: 'large',
    provider: 'custom',
    base_url: main.baseUrl,
    api_key: 'main-key',
    agent: { max_retries: 0 },
    ...settings?.({ main: main.baseUrl, other: other.baseUrl }),
  })
  const recorded: AuxiliaryCall[] = []
  const home = createHomeLayout(tempHome(t))
  const entries = stored?.map((access_token) => ({ id: access_token, label: '', source: 'manual', access_token }))
  if (entries !== undefined)
    writeFileSync(home.authFile, JSON.stringify({ version: 1, credential_pool: { anthropic: entries } }), {
      mode: 0o600,
    })
  const modelCalls = createModelCallMonitor({ log: silentLog })
  const models = createAgentModels({
    home,
    settings: () => ({ ...settingsWith(), ...parsed }),
    environment: () => ({
      values: {},
      file: {},
      process: {},
      originOf: () => undefined,
      issues: [],
      warnings: [],
    }),
    modelCalls,
    auxiliaryCalls: {
      ...agentDeps(),
      async record(call) {
        recorded.push(call)
        if (failsToRecord) throw new Error('the disk is full')
      },
    },
    openModelKeys: async (selection) =>
      createModelKeys({
        picturesFolder: '',
        path: home.authFile,
        settings: () => parsed,
        selection,
        secrets: { set: () => undefined },
        modelCalls,
        clock: Date.now,
        random: () => 0,
        log: silentLog,
      }),
    log: silentLog,
  })
  t.after(models.close)
  const ask = (task: AuxiliaryTask, more: { readonly signal?: AbortSignal; readonly isManaged?: boolean } = {}) =>
    models.auxiliary(task).complete({
      input: { system: 'Be brief.', messages: [{ role: 'user', content: 'hello' }], tools: [] },
      signal: more.signal ?? new AbortController().signal,
      ...(more.isManaged === false ? {} : { turn: turnInfo }),
    })
  return { models, ask, main, other, recorded }
}

const otherServer = (task: AuxiliaryTask, more: Settings = {}) => ({
  settings: ({ other }: { readonly other: string }) => ({
    auxiliary: { [task]: { provider: 'anthropic', model: 'small', base_url: other, api_key: 'other-key', ...more } },
  }),
})

test('without settings the model of the conversation does the work', async (t) => {
  const { models, ask, main } = await startModels(t, {})
  const { text, model } = await ask('web_extract')
  assert.deepEqual([text, model, await models.auxiliary('web_extract').isConfigured()], ['from main', 'large', false])
  assert.equal(main.requests[0]?.body['model'], 'large')
})

test('a model alone is one of the provider of the conversation', async (t) => {
  const settings = () => ({ auxiliary: { title_generation: { model: 'small' } } })
  const { models, ask, main } = await startModels(t, { settings })
  assert.equal((await ask('title_generation')).model, 'small')
  assert.equal(main.requests[0]?.body['model'], 'small')
  assert.equal(await models.auxiliary('title_generation').isConfigured(), true)
})

test('a task with its own provider sends its own key there, and nothing to the provider of the conversation', async (t) => {
  const { ask, main, other } = await startModels(t, otherServer('vision'))
  const { text, provider, model } = await ask('vision')
  assert.deepEqual([text, provider.name, model], ['from the other one', 'anthropic', 'small'])
  assert.equal(other.requests[0]?.headers['x-api-key'], 'other-key')
  assert.equal(main.requests.length, 0)
})

test('the former keys of compression are those of its model', async (t) => {
  const { ask, other } = await startModels(t, {
    settings: (urls) => ({
      compression: { summary_model: 'old', summary_provider: 'anthropic', summary_base_url: urls.other },
      auxiliary: { compression: { model: 'new' } },
    }),
  })
  assert.equal((await ask('compression')).model, 'new')
  assert.equal(other.requests.length, 1)
})

for (const isManaged of [true, false])
  test(`the model of the conversation does the work when the one of the task fails${isManaged ? '' : ', also outside of turns'}`, async (t) => {
    const { ask, other } = await startModels(t, { other: { error: { status: 500 } }, ...otherServer('compression') })
    assert.equal((await ask('compression', { isManaged })).text, 'from main')
    assert.equal(other.requests.length, 1)
  })

for (const isManaged of [true, false])
  test(`a refused key is replaced by another one of the pool${isManaged ? '' : ', also outside of turns'}`, async (t) => {
    const { ask, other } = await startModels(t, {
      // The keys of a provider go to the address of the provider, not to the `base_url` of a task.
      settings: ({ other }) => ({
        providers: { anthropic: { base_url: other } },
        auxiliary: { approval: { provider: 'anthropic', model: 'small' } },
      }),
      stored: ['first', 'second'],
      other: (key) => (key === 'first' ? { error: { status: 401 } } : { text: 'accepted' }),
    })
    assert.equal((await ask('approval', { isManaged })).text, 'accepted')
    assert.equal(other.requests.length, 2)
  })

test('a task whose provider cannot be used is done by the model of the conversation', async (t) => {
  const settings = () => ({ auxiliary: { title_generation: { provider: 'deepseek', model: 'small' } } })
  const { ask } = await startModels(t, { settings })
  assert.equal((await ask('title_generation')).model, 'large')
})

test('a task without a model of its own is done by an entry of fallback_providers when the provider fails', async (t) => {
  const { ask } = await startModels(t, {
    main: { error: { status: 429 } },
    settings: ({ other }) => ({
      fallback_providers: [{ provider: 'anthropic', model: 'claude', base_url: other, api_key: 'k' }],
    }),
  })
  assert.equal((await ask('compression')).text, 'from the other one')
})

test('a failure is reported when no model can do the work', async (t) => {
  const { models } = await startModels(t, { other: { error: { status: 500 } }, ...otherServer('vision') })
  const call = models.auxiliary('vision').complete({
    input: { system: '', messages: [{ role: 'user', content: 'hello' }], tools: [] },
    canUse: ({ model }) => model === 'small',
    signal: new AbortController().signal,
  })
  await assert.rejects(call, { name: 'ModelError', kind: 'overloaded' })
})

test('a model that does not answer is given up when its time is over', async (t) => {
  const { ask } = await startModels(t, { other: { hang: 'headers' }, ...otherServer('approval', { timeout: 0.05 }) })
  await assert.rejects(ask('approval'), { name: 'ModelError', kind: 'timeout' })
  await assert.rejects(ask('approval', { isManaged: false }), { name: 'ModelError', kind: 'timeout' })
})

test('a turn that is stopped stops the call with its own reason', async (t) => {
  const { ask, other } = await startModels(t, { other: { hang: 'headers' }, ...otherServer('vision') })
  const stop = new AbortController()
  const call = ask('vision', { signal: stop.signal })
  await other.request(0)
  stop.abort(new Error('stopped'))
  await assert.rejects(call, /^Error: stopped$/)
})

test('the tokens of a call are stored once, with the model that answered, and a failure to store them loses no answer', async (t) => {
  const { ask, recorded } = await startModels(t, {
    other: { text: 'ok', usage: { input: 7, output: 2 } },
    failsToRecord: true,
    ...otherServer('title_generation'),
  })
  assert.equal((await ask('title_generation')).text, 'ok')
  assert.equal(recorded.length, 1)
  const { sessionId, turnId } = turnInfo
  const { usage, ...call } = recorded[0] ?? assert.fail()
  assert.deepEqual(call, { sessionId, turnId, task: 'title_generation', provider: 'anthropic', model: 'small' })
  assert.deepEqual([usage.inputTokens, usage.outputTokens], [7, 2])
})
