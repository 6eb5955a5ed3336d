import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { agentConfig } from '../../src/agent/config.ts'
import { otherModelSettings } from '../../src/flows/other-model.ts'

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
