import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { z } from 'zod'
import { catalogue, type ProviderEntry, providerAliases } from '../../../src/agent/models/catalogue.ts'
import { modelConfig } from '../../../src/agent/models/config.ts'
import { createProvider, type ProviderSettings } from '../../../src/agent/models/create-provider.ts'
import { resolveProvider, serversOf } from '../../../src/agent/models/resolve-provider.ts'
import type { ErrorCode } from '../../../src/lib/error-catalogue.ts'
import type { HermesError } from '../../../src/lib/errors.ts'

const nothing: ProviderSettings = { model: '', baseUrl: '', apiKey: '', variables: {} }

function chosen(settings: Partial<ProviderSettings>): string {
  const choice = createProvider({ ...nothing, ...settings })
  assert.ok('provider' in choice, JSON.stringify(settings))
  return `${choice.provider.name} ${choice.provider.baseUrl}`.trim()
}

function problemOf(settings: Partial<ProviderSettings>): HermesError {
  const choice = createProvider({ ...nothing, ...settings })
  assert.ok('problem' in choice, JSON.stringify(settings))
  return choice.problem
}

test('without configuration the demonstration is used', () => {
  const choice = createProvider(nothing)
  assert.ok('provider' in choice)
  assert.deepEqual([choice.provider.name, choice.model], ['demo', 'demo'])
})

test('the provider follows from the configured keys, address and model', () => {
  const cases: readonly (readonly [Partial<ProviderSettings>, string])[] = [
    [{ variables: { OPENAI_API_KEY: 'k' }, model: 'gpt' }, 'openai https://api.openai.com/v1'],
    [{ variables: { ANTHROPIC_API_KEY: 'k' }, model: 'claude-x' }, 'anthropic https://api.anthropic.com'],
    [
      { variables: { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' }, model: 'claude-x' },
      'anthropic https://api.anthropic.com',
    ],
    [{ variables: { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' }, model: 'gpt' }, 'openai https://api.openai.com/v1'],
    [{ apiKey: 'k', model: 'claude-x' }, 'anthropic https://api.anthropic.com'],
    [{ apiKey: 'k', model: 'gpt' }, 'openai https://api.openai.com/v1'],
    [{ baseUrl: 'http://127.0.0.1:11434/v1/', model: 'llama' }, 'openai http://127.0.0.1:11434/v1'],
    [
      { provider: 'openai-responses', variables: { OPENAI_API_KEY: 'k' }, model: 'gpt' },
      'openai-responses https://api.openai.com/v1',
    ],
    [{ provider: 'anthropic', baseUrl: 'http://localhost:1/v1', model: 'm' }, 'anthropic http://localhost:1'],
    [{ provider: 'demo', variables: { OPENAI_API_KEY: 'k' }, model: 'gpt' }, 'demo'],
  ]
  for (const [settings, expected] of cases) assert.equal(chosen(settings), expected, JSON.stringify(settings))
})

test('vendors and local servers of the catalogue are reached by name, by key and by address', () => {
  const cases: readonly (readonly [Partial<ProviderSettings>, string])[] = [
    [
      { provider: 'openrouter', variables: { OPENROUTER_API_KEY: 'k' }, model: 'm' },
      'openrouter https://openrouter.ai/api/v1',
    ],
    [
      { variables: { OPENROUTER_API_KEY: 'k', OPENAI_API_KEY: 'o' }, model: 'z-ai/glm-5' },
      'openrouter https://openrouter.ai/api/v1',
    ],
    [{ variables: { OPENROUTER_API_KEY: 'k', OPENAI_API_KEY: 'o' }, model: 'gpt' }, 'openai https://api.openai.com/v1'],
    [{ variables: { DEEPSEEK_API_KEY: 'k' }, model: 'deepseek-chat' }, 'deepseek https://api.deepseek.com/v1'],
    [{ variables: { HF_TOKEN: 'k' } }, 'demo'],
    [{ variables: { XAI_API_KEY: 'k' }, baseUrl: 'https://api.x.ai/v1', model: 'm' }, 'xai https://api.x.ai/v1'],
    [
      { variables: { OPENAI_API_KEY: 'k' }, baseUrl: 'https://openrouter.ai/api/v1', model: 'm' },
      'openai https://openrouter.ai/api/v1',
    ],
    [
      { provider: 'minimax', variables: { MINIMAX_API_KEY: 'k' }, model: 'm' },
      'minimax https://api.minimax.io/anthropic',
    ],
    [{ provider: 'grok', variables: { XAI_API_KEY: 'k' }, model: 'm' }, 'xai https://api.x.ai/v1'],
    [{ provider: 'ollama', model: 'm' }, 'ollama http://127.0.0.1:11434/v1'],
    [{ provider: 'lmstudio', baseUrl: 'http://10.0.0.2:1234/v1/', model: 'm' }, 'lmstudio http://10.0.0.2:1234/v1'],
    [{ provider: 'auto', variables: { OPENAI_API_KEY: 'k' }, model: 'm' }, 'openai https://api.openai.com/v1'],
  ]
  for (const [settings, expected] of cases) assert.equal(chosen(settings), expected, JSON.stringify(settings))
})

test('a server of the configuration has its own address, key and API', () => {
  const providers = {
    lab: { base_url: 'https://lab.example/v1', key_env: 'LAB_KEY', api_mode: 'codex_responses' },
    openai: { base_url: 'https://proxy.example/v1' },
  } as const
  const lab = createProvider({ ...nothing, provider: 'lab', providers, model: 'm', variables: { LAB_KEY: 'k' } })
  assert.ok('provider' in lab)
  assert.deepEqual([lab.provider.baseUrl, lab.provider.apiMode], ['https://lab.example/v1', 'codex_responses'])
  assert.equal(chosen({ provider: 'openai', providers, model: 'm' }), 'openai https://proxy.example/v1')
})

test('an unknown provider is an error that names the nearest one', () => {
  const problem = problemOf({ provider: 'openruter', model: 'm' })
  assert.equal(problem.code, 'config/no-model')
  assert.ok(problem.message.includes('"openrouter"'))
  assert.equal(problemOf({ provider: 'custom', model: 'm' }).code, 'config/no-model')
  assert.ok(problemOf({ provider: 'deepseek', model: 'm' }).hint.includes('DEEPSEEK_API_KEY'))
})

test('a key of Anthropic is not sent to another server', () => {
  assert.equal(
    chosen({ variables: { ANTHROPIC_API_KEY: 'k' }, baseUrl: 'https://router.example/v1', model: 'claude-x' }),
    'openai https://router.example/v1',
  )
  assert.equal(
    chosen({ variables: { ANTHROPIC_API_KEY: 'k' }, baseUrl: 'https://anthropic.example/', model: 'claude-x' }),
    'anthropic https://anthropic.example',
  )
})

test('an invalid configuration gives an error code and names the setting instead of throwing', () => {
  const cases: readonly (readonly [Partial<ProviderSettings>, ErrorCode, string])[] = [
    [{ provider: 'openai', model: 'gpt' }, 'config/no-model', 'OPENAI_API_KEY'],
    [{ model: 'claude-x' }, 'config/no-model', 'ANTHROPIC_API_KEY'],
    [{ variables: { ANTHROPIC_API_KEY: 'k' } }, 'config/no-model', '`model`'],
    [{ variables: { OPENAI_API_KEY: 'k' } }, 'config/no-model', '`model`'],
    [{ variables: { OPENAI_API_KEY: 'key with space' }, model: 'gpt' }, 'config/no-model', 'OPENAI_API_KEY'],
    [{ baseUrl: 'not an address', model: 'm' }, 'config/invalid', '`base_url`'],
    [{ baseUrl: 'ftp://host/', model: 'm' }, 'config/invalid', '`base_url`'],
    [{ baseUrl: 'https://user:hunter2@host/', model: 'm' }, 'config/invalid', '`base_url`'],
  ]
  for (const [settings, code, setting] of cases) {
    const problem = problemOf(settings)
    assert.equal(problem.code, code, JSON.stringify(settings))
    assert.ok(problem.hint.includes(setting), problem.hint)
    assert.ok(!`${problem.message} ${problem.hint}`.includes('hunter2'))
  }
})

test('neither a provider nor its calls load an SDK', async () => {
  const program = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ resolve: (name, context, next) => { if (/^(openai|@anthropic-ai)/.test(name)) loaded.push(name); return next(name, context) } })
    const { createProvider } = await import(${JSON.stringify(new URL('../../../src/agent/models/create-provider.ts', import.meta.url).href)})
    for (const provider of ['openai', 'openai-responses', 'anthropic']) {
      const { provider: built } = createProvider({ provider, model: 'm', baseUrl: 'http://127.0.0.1:1', apiKey: 'k', variables: {} })
      const request = built.buildRequest({ model: 'm', system: '', messages: [], tools: [] })
      console.log(provider, 'created', loaded.join())
      await built.stream(request, new AbortController().signal).next().catch((error) => console.log(error.kind))
      console.log(provider, 'called', loaded.splice(0).join())
    }`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  assert.deepEqual(stdout.trim().split('\n'), [
    'openai created ',
    'network',
    'openai called ',
    'openai-responses created ',
    'network',
    'openai-responses called ',
    'anthropic created ',
    'network',
    'anthropic called',
  ])
})

test('a server of `providers` and of `custom_providers` is found by its name, also with the prefix of Hermes', () => {
  const parsed = z.object({ providers: modelConfig.providers, custom_providers: modelConfig.custom_providers }).parse({
    providers: { lab: { url: 'http://127.0.0.1:1/v1', transport: 'openai_chat', default_model: 'own' } },
    custom_providers: [
      { name: 'My Server', base_url: 'http://127.0.0.1:2/anthropic', models: ['a', 'b'], context_length: 32_000 },
      { name: 'my server', base_url: 'http://127.0.0.1:3' },
      { name: 'lab', base_url: 'http://127.0.0.1:4' },
    ],
  })
  const providers = serversOf(parsed)
  const resolved = (provider: string) => {
    const choice = resolveProvider({ ...nothing, provider, providers })
    return choice === undefined ? undefined : `${choice.name} ${choice.apiMode} ${choice.baseUrl}`
  }
  assert.equal(resolved('lab'), 'lab chat_completions http://127.0.0.1:1/v1')
  assert.equal(resolved('custom:lab'), 'custom:lab chat_completions http://127.0.0.1:4')
  assert.equal(resolved('custom:my-server'), 'custom:my-server anthropic_messages http://127.0.0.1:2/anthropic')
  assert.equal(resolved('my-server'), 'custom:my-server anthropic_messages http://127.0.0.1:2/anthropic')
  assert.equal(resolved('custom:absent'), undefined)
  assert.equal(providers['lab']?.model, 'own')
  assert.deepEqual(providers['custom:my-server']?.models, { a: {}, b: {} })
})

test('a configured API mode counts for the server of the configuration', () => {
  const choice = resolveProvider({ ...nothing, baseUrl: 'http://127.0.0.1:1', apiMode: 'anthropic_messages' })
  assert.equal(choice?.apiMode, 'anthropic_messages')
})

test('a variable of Hermes can hold the address of a provider, and some keys belong to another address', () => {
  const cases: readonly (readonly [Partial<ProviderSettings>, string])[] = [
    [
      { provider: 'zai', variables: { GLM_API_KEY: 'k', GLM_BASE_URL: 'https://glm.example/v4/' }, model: 'm' },
      'zai https://glm.example/v4',
    ],
    [
      { provider: 'zai', baseUrl: 'https://own.example', variables: { GLM_API_KEY: 'k', GLM_BASE_URL: 'https://x' } },
      'zai https://own.example',
    ],
    [{ provider: 'kimi', variables: { KIMI_API_KEY: 'sk-kimi-1' } }, 'kimi https://api.kimi.com/coding/v1'],
    [{ provider: 'kimi', variables: { KIMI_API_KEY: 'sk-1' } }, 'kimi https://api.moonshot.ai/v1'],
    [{ provider: 'custom', variables: { OPENAI_BASE_URL: 'http://127.0.0.1:1' } }, 'custom http://127.0.0.1:1'],
    // The keys of the two largest vendors go to no address of the environment.
    [
      { provider: 'openai', variables: { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://x' } },
      'openai https://api.openai.com/v1',
    ],
  ]
  for (const [settings, expected] of cases) assert.equal(chosen({ model: 'm', ...settings }), expected)
})

test('every provider of the catalogue has an address of https, or is a local server', () => {
  for (const [name, entry] of Object.entries<ProviderEntry>(catalogue)) {
    const isUsable = entry.isLocal === true || /^https:\/\/[^/]+\/?\S*[^/]$/.test(entry.baseUrl)
    assert.ok(isUsable && entry.keyVariables.length > 0, name)
    const choice = resolveProvider({ ...nothing, provider: name, variables: { [entry.keyVariables[0] ?? '']: 'k' } })
    assert.deepEqual([choice?.name, choice?.keys.length], [name, 1])
  }
  for (const [alias, name] of Object.entries(providerAliases)) {
    assert.ok(!Object.hasOwn(catalogue, alias), alias)
    assert.equal(resolveProvider({ ...nothing, provider: alias })?.name, name)
  }
})
