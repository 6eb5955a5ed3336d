/**
 * `hermes auth`: the keys of model providers.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempHome } from '../kit/temp-home.ts'
import { assertFailed, homeWith, quietConfig, runInProcess } from './support.ts'

const listed = async (root: string): Promise<unknown> =>
  JSON.parse((await runInProcess(root, ['auth', 'list', '--json'])).stdout)

test('keys are added, listed without their value, reset and removed', async (t) => {
  const home = homeWith(t, quietConfig)
  const add = (key: string, ...words: string[]) => runInProcess(home.root, ['auth', 'add', ...words], { input: key })
  assert.equal((await add('sk-first-key-1\n', 'openrouter', '--label', 'work')).code, 0)
  assert.equal((await add('sk-second-key-2', 'openrouter')).code, 0)
  assert.equal(statSync(home.authFile).mode & 0o777, 0o600)
  const shown = await runInProcess(home.root, ['auth', 'list'])
  assert.match(shown.stdout, /openrouter {2}work .* ok /)
  assert.ok(!shown.stdout.includes('sk-first'))

  const stored = JSON.parse(readFileSync(home.authFile, 'utf8'))
  stored.credential_pool.openrouter[0].last_status = 'exhausted'
  stored.credential_pool.openrouter[0].cooldown_until = Date.now() / 1_000 + 600
  writeFileSync(home.authFile, JSON.stringify(stored))
  assert.match((await runInProcess(home.root, ['auth', 'list'])).stdout, /work .* rests for/)
  const status = await runInProcess(home.root, ['status', '--json'])
  assert.match(status.stdout, /"resting": \[\s*\{\s*"label": "work"/)
  assert.equal((await runInProcess(home.root, ['auth', 'reset', 'openrouter', 'work'])).code, 0)
  assert.match((await runInProcess(home.root, ['auth', 'list'])).stdout, /work .* ok /)

  assert.equal((await runInProcess(home.root, ['auth', 'remove', 'openrouter', '1'])).code, 0)
  const left = await listed(home.root)
  assert.ok(Array.isArray(left) && left.length === 1 && left[0].label === 'key 2')
})

test('the first key creates the home, and a home that cannot be written is named', async (t) => {
  const root = join(tempHome(t), 'new', 'home')
  assert.equal((await runInProcess(root, ['auth', 'add', 'openai'], { input: 'sk-first-key-1\n' })).code, 0)
  assert.equal(statSync(root).mode & 0o777, 0o700)
  const left = await listed(root)
  assert.ok(Array.isArray(left) && left.length === 1)

  const home = homeWith(t, quietConfig)
  mkdirSync(`${home.authFile}.lock`)
  const blocked = await runInProcess(home.root, ['auth', 'add', 'openai'], { input: 'sk-first-key-1\n' })
  assertFailed(blocked, 'auth/unusable', home.authFile)
})

test('a key with an address of its own shows where it is sent', async (t) => {
  const home = homeWith(t, quietConfig)
  const entries = [
    { id: 'a', label: 'work', source: 'manual', access_token: 'sk-first', base_url: 'https://own.example/v1' },
  ]
  writeFileSync(home.authFile, JSON.stringify({ credential_pool: { openai: entries } }), { mode: 0o600 })
  assert.match((await runInProcess(home.root, ['auth', 'list'])).stdout, /https:\/\/own\.example\/v1/)
})

test('a key of the environment is listed and cannot be removed here', async (t) => {
  const home = homeWith(t, quietConfig)
  writeFileSync(home.envFile, 'DEEPSEEK_API_KEY=deep-secret-key\n')
  const shown = await runInProcess(home.root, ['auth', 'list'])
  assert.match(shown.stdout, /deepseek {2}DEEPSEEK_API_KEY/)
  assert.ok(!shown.stdout.includes('deep-secret-key'))
  assertFailed(await runInProcess(home.root, ['auth', 'remove', 'deepseek', '1']), 'cli/usage')
})

test('unknown providers, bad keys, repeated keys and a torn file are refused', async (t) => {
  const home = homeWith(t, quietConfig)
  const add = (key: string, provider: string) => runInProcess(home.root, ['auth', 'add', provider], { input: key })
  const typo = await add('sk-good-key', 'openruter')
  assertFailed(typo, 'cli/not-found')
  assert.match(typo.stderr, /"openrouter"/)
  for (const key of ['', 'two words', 'short', 'lines\nof text'])
    assertFailed(await add(key, 'openrouter'), 'cli/usage')
  assert.equal((await add('sk-good-key', 'openrouter')).code, 0)
  assertFailed(await add('sk-good-key', 'openrouter'), 'cli/usage')
  assertFailed(await runInProcess(home.root, ['auth', 'remove', 'openrouter', 'nothing']), 'cli/not-found')
  writeFileSync(home.authFile, '{"credential_pool": {')
  assertFailed(await add('sk-other-key', 'openrouter'), 'auth/unusable')
  assert.equal(readFileSync(home.authFile, 'utf8'), '{"credential_pool": {')
})
