/**
 * `hermes import hermes` takes over homes of Hermes Agent as they are found in the field.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readAuthFile } from '../../../src/agent/models/credentials/auth-file.ts'
import { entriesOf } from '../../../src/agent/models/credentials/state.ts'
import { runInProcess } from '../support.ts'
import { hermesHomes } from './hermes-homes.ts'
import {
  contentOf,
  homesWith,
  modeOf,
  namesOf,
  problemsOf,
  readSetting,
  runImport,
  snapshot,
  writeFiles,
} from './support.ts'

describe('a home of Hermes is imported', () => {
  assert.equal(hermesHomes.length, 20)
  for (const { name, files, expected, left = [] } of hermesHomes) {
    test(name, async (t) => {
      const homes = homesWith(t, files)
      const before = snapshot(homes.source)
      const first = await runImport(homes, 'hermes')
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(readSetting(homes.target, key), value, key)
      for (const one of left) assert.ok(namesOf(first, 'left').includes(one), `${one} is not reported: ${first.text}`)
      assert.deepEqual(namesOf(first, 'conflict'), [])
      assert.deepEqual(await problemsOf(homes.target), [])

      const second = await runImport(homes, 'hermes')
      assert.deepEqual(namesOf(second, 'taken', 'changed', 'conflict'), [])
      assert.deepEqual(namesOf(second, 'left', 'failed'), namesOf(first, 'left', 'failed'))
      assert.deepEqual(snapshot(homes.source), before)
      assert.equal(/\bk-\d+\b|xoxb-1|"1:a"/.test(first.text), false, 'the report contains a secret')
    })
  }
})

test('extensions, memories, people, keys and jobs arrive as they were', async (t) => {
  const files = Object.assign({}, ...hermesHomes.map((home) => home.files))
  const homes = homesWith(t, files)
  const dry = await runImport(homes, 'hermes', '--dry-run')
  assert.deepEqual(snapshot(homes.target), [])
  const report = await runImport(homes, 'hermes')
  assert.deepEqual(namesOf(dry, 'taken', 'changed'), namesOf(report, 'taken', 'changed'))
  for (const path of [
    'SOUL.md',
    'memories/MEMORY.md',
    'skills/research/papers/SKILL.md',
    'hooks/log/handler.py',
    'plugins/memory/mine/__init__.py',
    'scripts/check.py',
  ])
    assert.equal(contentOf(homes.target, path), files[path], path)
  assert.equal(existsSync(join(homes.target, 'hooks/draft')), false)
  const approved = JSON.parse(contentOf(homes.target, 'platforms/pairing/telegram-approved.json'))
  assert.deepEqual(Object.keys(approved).sort(), ['77', '78'])
  const { credential_pool: pool } = JSON.parse(contentOf(homes.target, 'auth.json'))
  assert.deepEqual(
    pool.openrouter.map(({ access_token: key }: { access_token: string }) => key),
    ['k-12'],
  )
  const { jobs } = JSON.parse(contentOf(homes.target, 'cron/jobs.json'))
  assert.deepEqual(
    jobs.map(({ id }: { id: string }) => id),
    ['aabbccddeeff'],
  )
  for (const path of ['config.yaml', '.env', 'auth.json', 'SOUL.md'])
    assert.equal(modeOf(join(homes.target, path)), 0o600, path)
  assert.ok(namesOf(report, 'failed').some((name) => name.startsWith('cron/jobs.json, job 2')))
})

test('plugins that were enabled by the name in their manifest are enabled after the import', async (t) => {
  const homes = homesWith(t, {
    'config.yaml': 'plugins: {enabled: [weather, clock], disabled: [noisy]}\n',
    'plugins/weather-tool/plugin.yaml': 'name: weather\n',
    'plugins/weather-tool/__init__.py': 'def register(ctx): pass\n',
    'plugins/clock/plugin.yaml': 'name: clock\n',
    'plugins/clock/__init__.py': 'def register(ctx): pass\n',
    'plugins/noisy-one/plugin.yaml': 'name: noisy\n',
    'plugins/noisy-one/__init__.py': 'def register(ctx): pass\n',
  })
  await runImport(homes, 'hermes')
  assert.deepEqual(await problemsOf(homes.target), [])
  const { stdout } = await runInProcess(homes.target, ['plugins', 'list', '--json'])
  const states = Object.fromEntries(JSON.parse(stdout).map(({ id, state }: Record<string, string>) => [id, state]))
  assert.partialDeepStrictEqual(states, { 'weather-tool': 'enabled', clock: 'enabled', 'noisy-one': 'disabled' })
})

test('an import keeps the keys in use that this home has under the name that Hermes gives to a provider', async (t) => {
  const pool = (name: string, ...keys: readonly string[]) =>
    JSON.stringify({
      version: 1,
      credential_pool: {
        [name]: keys.map((key) => ({
          id: `id-${key}`,
          auth_type: 'api_key',
          source: 'manual',
          access_token: key,
          base_url: `https://${key}.example`,
        })),
      },
    })
  const homes = homesWith(t, { 'config.yaml': 'model: gpt-5.2\n', 'auth.json': pool('kimi', 'own', 'new') })
  writeFiles(homes.target, { 'auth.json': pool('kimi-coding', 'own') })
  const report = await runImport(homes, 'hermes')
  assert.deepEqual(
    report.entries.filter(({ area }) => area === 'keys').map(({ result }) => result),
    ['same', 'taken'],
  )
  assert.ok(report.entries.some(({ reason }) => reason.includes('https://new.example')))
  const file = readAuthFile(join(homes.target, 'auth.json'))
  assert.deepEqual(
    entriesOf(file, 'kimi').map(({ credential }) => credential?.secret),
    ['own', 'new'],
  )
})
