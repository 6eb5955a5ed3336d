import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { agentConfig } from '../../../src/agent/config.ts'
import { createProvider } from '../../../src/agent/models/create-provider.ts'
import { resolveProvider } from '../../../src/agent/models/resolve-provider.ts'
import { chooseFallback } from '../../../src/flows/models/fallback-model.ts'
import { otherModelSettings } from '../../../src/flows/models/other-model.ts'
import { silentLog } from '../../../src/lib/log.ts'

const main = {
  provider: 'anthropic',
  model: 'large',
  baseUrl: '',
  apiKey: 'main-key',
  variables: { OPENAI_API_KEY: 'openai-key', ANTHROPIC_API_KEY: 'anthropic-key' },
} as const

function settings(approval: Readonly<Record<string, unknown>>) {
  const { auxiliary } = z.object(agentConfig).parse({ auxiliary: { approval } })
  return otherModelSettings(main, auxiliary.approval)
}

test('without settings the model of the conversation judges commands', () => {
  assert.deepEqual(settings({}), main)
  assert.deepEqual(settings({ provider: 'main', model: 'small' }), { ...main, model: 'small' })
})

test('another provider judges with its own key, not with the key of the conversation', () => {
  const other = settings({ provider: 'openai', model: 'small' })
  assert.deepEqual(other, { ...main, provider: 'openai', model: 'small', apiKey: '' })
})

test('no key of the conversation reaches another address', () => {
  const local = settings({ base_url: 'http://127.0.0.1:11434/v1', model: 'small' })
  assert.deepEqual([local.apiKey, local.variables], ['', {}])
  assert.equal(settings({ base_url: 'http://127.0.0.1:1/v1', api_key: 'own' }).apiKey, 'own')
})

test('the API mode of the conversation belongs to its server, and that of sub-agents to theirs', () => {
  const own = { ...main, apiMode: 'anthropic_messages', baseUrl: 'http://127.0.0.1:1' } as const
  const mode = (delegation: Readonly<Record<string, unknown>>) => {
    const parsed = z.object(agentConfig).parse({ delegation: { provider: 'main', ...delegation } })
    return otherModelSettings(own, parsed.delegation).apiMode
  }
  assert.equal(mode({ model: 'small' }), 'anthropic_messages')
  assert.equal(mode({ provider: 'openai' }), undefined)
  assert.equal(mode({ base_url: 'http://127.0.0.1:2' }), undefined)
  assert.equal(mode({ base_url: 'http://127.0.0.1:2', api_mode: 'codex_responses' }), 'codex_responses')
})

/** The keys that the provider of an entry of `fallback_providers` gets. */
async function keysOfFallback(entry: Readonly<Record<string, unknown>>, more: object = {}): Promise<string[]> {
  const parsed = z.object(agentConfig).parse({ fallback_providers: [{ model: 'other', ...entry }] })
  const configured = {
    ...main,
    providers: { lab: { base_url: 'https://lab.example/v1', api_key: 'lab-key' } },
    ...more,
  }
  let keys: string[] = []
  const create: Parameters<typeof chooseFallback>[0]['create'] = async (settings) => {
    keys = resolveProvider(settings)?.keys.map(({ secret }) => secret) ?? []
    const created = createProvider(settings)
    if ('problem' in created) throw created.problem
    return created
  }
  const failed = await create({ ...configured, model: 'failed' })
  keys = []
  const { fallback_providers: entries } = parsed
  await chooseFallback({ selection: () => configured, create }, { entries, log: silentLog }, failed)
  return keys
}

test('a model that finishes a turn at another address gets no key of its vendor or of a configured server', async () => {
  const elsewhere = 'https://other.example/v1'
  for (const provider of ['openai', 'anthropic', 'lab', 'custom'])
    assert.deepEqual(await keysOfFallback({ provider, base_url: elsewhere }), [], provider)
  assert.deepEqual(await keysOfFallback({ provider: 'openai', base_url: elsewhere, api_key: 'own' }), ['own'])
  assert.deepEqual(await keysOfFallback({ provider: 'openai', base_url: elsewhere, key_env: 'OPENAI_API_KEY' }), [
    'openai-key',
  ])
})

test("a model that finishes a turn keeps the keys of its provider where the address is the provider's own", async () => {
  assert.deepEqual(await keysOfFallback({ provider: 'openai', base_url: 'https://api.openai.com/v1/' }), ['openai-key'])
  assert.deepEqual(await keysOfFallback({ provider: 'lab', base_url: 'https://lab.example/v1' }), ['lab-key'])
  const proxy = { provider: 'openai', baseUrl: 'https://proxy.example/v1', apiKey: 'proxy-key' }
  assert.deepEqual((await keysOfFallback({ provider: 'openai', base_url: proxy.baseUrl }, proxy))[0], 'proxy-key')
})

test('no key of a configured server reaches another address', () => {
  const providers = { lab: { base_url: 'https://lab.example/v1', api_key: 'lab-key', key_env: 'ANTHROPIC_API_KEY' } }
  const { auxiliary } = z.object(agentConfig).parse({
    auxiliary: { approval: { provider: 'lab', model: 'small', base_url: 'https://other.example/v1' } },
  })
  const settled = resolveProvider(otherModelSettings({ ...main, providers }, auxiliary.approval))
  assert.deepEqual([settled?.baseUrl, settled?.keys], ['https://other.example/v1', []])
})
