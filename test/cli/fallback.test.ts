/**
 * `hermes fallback`: the models that finish a turn when the configured one fails.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { assertFailed, homeWith, quietConfig, runInProcess } from './support.ts'

const listed = async (root: string): Promise<readonly { readonly model: string; readonly key: string }[]> =>
  JSON.parse((await runInProcess(root, ['fallback', 'list', '--json'])).stdout)

test('models are added, listed with the state of their key, and removed by number or name', async (t) => {
  const home = homeWith(t, `# mine\n${quietConfig}`)
  writeFileSync(home.envFile, 'ANTHROPIC_API_KEY=sk-ant-secret-key\n')
  const run = (...args: string[]) => runInProcess(home.root, ['fallback', ...args])
  assert.equal((await run('add', 'claude', 'claude-sonnet-5')).code, 0)
  const missing = await run('add', 'openrouter', 'z-ai/glm-5', '--context-length', '128000')
  assert.equal(missing.code, 0)
  assert.match(missing.stderr, /hermes auth add openrouter/)
  assert.equal((await run('add', 'ollama', 'qwen3')).code, 0)
  assert.equal(
    (await run('add', 'custom', 'own', '--base-url', 'http://127.0.0.1:9/v1', '--key-env', 'OWN_KEY')).code,
    0,
  )
  assert.deepEqual(
    (await listed(home.root)).map(({ model, key }) => `${model} ${key}`),
    ['claude-sonnet-5 ok', 'z-ai/glm-5 missing', 'qwen3 ok', 'own missing'],
  )
  const text = readFileSync(home.configFile, 'utf8')
  assert.match(text, /^# mine/)
  assert.match(text, /context_length: 128000/)
  assert.doesNotMatch((await run('list')).stdout, /secret/)
  assert.equal((await run('remove', '2')).code, 0)
  assert.equal((await run('remove', 'ollama/qwen3')).code, 0)
  assert.deepEqual(
    (await listed(home.root)).map(({ model }) => model),
    ['claude-sonnet-5', 'own'],
  )
  assert.equal((await run('clear')).code, 0)
  assert.deepEqual(await listed(home.root), [])
  assert.equal((await runInProcess(home.root, ['config', 'check'])).code, 0)
})

test('the older key of Hermes is one more entry, and can be removed', async (t) => {
  const entries = 'fallback_providers:\n  - {provider: ollama, model: qwen3}\n'
  const home = homeWith(t, `${quietConfig}\n${entries}fallback_model: {provider: deepseek, model: deepseek-chat}\n`)
  assert.deepEqual(
    (await listed(home.root)).map(({ model }) => model),
    ['qwen3', 'deepseek-chat'],
  )
  assert.equal((await runInProcess(home.root, ['fallback', 'remove', 'deepseek-chat'])).code, 0)
  assert.deepEqual(
    (await listed(home.root)).map(({ model }) => model),
    ['qwen3'],
  )
  assert.doesNotMatch(readFileSync(home.configFile, 'utf8'), /fallback_model/)
})

test('unknown providers, repeated entries, the configured model and bad options are refused', async (t) => {
  const home = homeWith(t, `${quietConfig}\nprovider: ollama\nmodel: qwen3\n`)
  const add = (...args: string[]) => runInProcess(home.root, ['fallback', 'add', ...args])
  const typo = await add('deepsek', 'deepseek-chat')
  assertFailed(typo, 'cli/not-found')
  assert.match(typo.stderr, /"deepseek"/)
  assertFailed(await add('ollama', 'qwen3'), 'cli/usage')
  assertFailed(await add('ollama', 'other', '--base-url', 'ftp://x'), 'cli/usage')
  assertFailed(await add('ollama', 'other', '--context-length', 'large'), 'cli/usage')
  assert.equal((await add('ollama', 'other')).code, 0)
  assertFailed(await add('ollama', 'other'), 'cli/usage')
  assertFailed(await runInProcess(home.root, ['fallback', 'remove', '2']), 'cli/not-found')
  const entries = Array.from({ length: 10 }, (_, number) => ({ provider: 'ollama', model: `m${number}` }))
  writeFileSync(home.configFile, JSON.stringify({ fallback_providers: entries }))
  assertFailed(await add('ollama', 'm11'), 'cli/usage')
})
