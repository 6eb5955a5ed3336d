import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProvider } from '../../../src/agent/models/create-provider.ts'
import { withCost } from '../../../src/agent/models/run-model-call.ts'
import { addUsage, noUsage, type Usage, unpricedTokens } from '../../../src/message/transcript.ts'

const million = { ...noUsage, inputTokens: 1_000_000, outputTokens: 1_000_000 }

function costOf(selection: { provider: string; model: string; baseUrl?: string }, usage: Usage = million) {
  const created = createProvider({ baseUrl: '', apiKey: 'k', variables: {}, ...selection })
  assert.ok('provider' in created)
  return withCost(usage, created.provider, selection.model).cost
}

test('input, cached input, written cache and output have their own prices', () => {
  const opus = { provider: 'anthropic', model: 'claude-opus-5-5' }
  assert.equal(costOf(opus), 24)
  assert.equal(costOf(opus, { ...million, cachedInputTokens: 500_000, cacheWriteTokens: 500_000 }), 22.6)
})

test('a dated name has the price of its model', () => {
  assert.equal(costOf({ provider: 'anthropic', model: 'claude-haiku-4-5-20251001' }), 6)
  assert.equal(costOf({ provider: 'openai', model: 'gpt-4o-2024-08-06' }), 12.5)
})

test('a request with a long input has the higher price, as a whole', () => {
  const luna = { provider: 'openai', model: 'gpt-6-luna' }
  assert.equal(costOf(luna, { ...noUsage, inputTokens: 272_000, outputTokens: 1_000 }), 0.0277)
  assert.equal(costOf(luna, { ...noUsage, inputTokens: 300_000, outputTokens: 1_000 }), 0.06075)
})

test('nothing is known of other models, and of other servers with the same models', () => {
  assert.equal(costOf({ provider: 'openai', model: 'gpt-99' }), undefined)
  assert.equal(costOf({ provider: 'openai', model: 'gpt-4o', baseUrl: 'https://proxy.example/v1' }), undefined)
})

test('a server on this machine bills nothing, and one elsewhere is not known', () => {
  assert.equal(costOf({ provider: 'ollama', model: 'qwen3' }), 0)
  assert.equal(costOf({ provider: 'ollama', model: 'qwen3', baseUrl: 'https://ollama.example/v1' }), undefined)
})

test('a sum tells how many of its tokens have no known price', () => {
  const known = { ...noUsage, inputTokens: 10, cost: 1 }
  const unknown = { ...noUsage, inputTokens: 3, outputTokens: 4 }
  const sum = addUsage(addUsage(noUsage, known), addUsage(unknown, unknown))
  assert.equal(sum.cost, 1)
  assert.equal(unpricedTokens(sum), 14)
  assert.equal(unpricedTokens(addUsage(known, known)), 0)
  assert.deepEqual(Object.keys(addUsage(unknown, unknown)), Object.keys(noUsage))
})
