/**
 * What people see of the keys of providers.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { type KeyStatusOptions, reportKeys } from '../../../src/flows/models/key-status.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { tempHome } from '../../kit/temp-home.ts'

const now = 1_700_000_000_000

interface Home {
  readonly file?: string
  readonly pool?: Readonly<Record<string, readonly object[]>>
  readonly variables?: Readonly<Record<string, string>>
  readonly fallbacks?: KeyStatusOptions['fallbacks']
  readonly provider?: string
}

function report(t: TestContext, { file, pool, variables = {}, fallbacks = [], provider = 'openrouter' }: Home) {
  const path = createHomeLayout(tempHome(t)).authFile
  const text = file ?? JSON.stringify({ credential_pool: pool })
  if (file !== undefined || pool !== undefined) writeFileSync(path, text, { mode: 0o600 })
  const selection = { provider, model: 'm', baseUrl: '', apiKey: '', variables }
  const shown = reportKeys({ path, selection, fallbacks, now })
  assert.doesNotMatch(JSON.stringify(shown), /secret/)
  return { ...shown, texts: shown.lines.map(({ text: line }) => line) }
}

const key = (label: string, more: object = {}) => ({ id: label, label, access_token: `secret-${label}`, ...more })
const rest = { last_status: 'exhausted', last_error_code: 429, cooldown_until: now / 1_000 + 600 }

test('a provider shows how many keys it has, which of them rest, and which are revoked', (t) => {
  const pool = { openrouter: [key('a'), key('b', rest), key('c', { last_status: 'dead' })] }
  const { status, texts, lines } = report(t, { pool, variables: { OPENROUTER_API_KEY: 'secret-env' } })
  const until = new Date(now + 600_000).toISOString()
  assert.deepEqual(status, [
    { provider: 'openrouter', keys: 3, resting: [{ label: 'b', until, status: 429 }], revoked: ['c'] },
  ])
  assert.match(texts[0] ?? '', /3 keys, 1 rests \(b for 10 min after the answer 429\), revoked: c/)
  assert.equal(lines[0]?.isGood, true)
})

test('an only key that rests, and keys that all rest, need attention', (t) => {
  const sole = report(t, { pool: { openrouter: [key('a', rest)] } })
  assert.match(sole.texts[0] ?? '', /its only key rests/)
  const all = report(t, { pool: { openrouter: [key('a', rest), key('b', rest)] } })
  assert.match(all.texts[0] ?? '', /all 2 keys rest/)
  assert.deepEqual(
    [...sole.lines, ...all.lines].map(({ isGood }) => isGood),
    [false, false],
  )
})

test('a missing key is named for the configured provider and for those that finish turns', (t) => {
  const fallbacks = [
    { provider: 'deepseek', model: 'm' },
    { provider: 'xai', model: 'm', key_env: 'MY_KEY' },
    { provider: 'ollama', model: 'm' },
  ]
  const { status } = report(t, { fallbacks })
  assert.deepEqual(
    status.map(({ provider, missing }) => [provider, missing]),
    [
      ['openrouter', 'OPENROUTER_API_KEY'],
      ['deepseek', 'DEEPSEEK_API_KEY'],
    ],
  )
})

test('another provider is shown only while its keys need attention', (t) => {
  const variables = { OPENROUTER_API_KEY: 'secret-env' }
  const pool = { nous: [key('a')], zai: [key('b', rest)], gone: [key('c', rest)] }
  assert.deepEqual(
    report(t, { pool, variables }).status.map(({ provider }) => provider),
    ['openrouter', 'zai', 'gone'],
  )
})

test('the demonstration and a server of the user show nothing', (t) => {
  assert.deepEqual(report(t, { provider: 'demo' }).status, [])
  assert.deepEqual(report(t, { provider: 'ollama' }).status, [])
})

test('a file that cannot be read is a line that says what to do', (t) => {
  const { status, lines } = report(t, { file: '{"credential_pool": {' })
  assert.deepEqual([status, lines.length, lines[0]?.isGood], [[], 1, false])
})
