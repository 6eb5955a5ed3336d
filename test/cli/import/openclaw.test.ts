/**
 * `hermes import openclaw` takes over homes of OpenClaw as its documentation describes them.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseDotenv } from '../../../src/config/dotenv.ts'
import { openclawHomes } from './openclaw-homes.ts'
import { contentOf, homesWith, modeOf, namesOf, problemsOf, readSetting, runImport, snapshot } from './support.ts'

describe('a home of OpenClaw is imported', () => {
  assert.equal(openclawHomes.length, 5)
  for (const { name, files, expected, variables = {}, left = [] } of openclawHomes) {
    test(name, async (t) => {
      const homes = homesWith(t, files)
      const before = snapshot(homes.source)
      const first = await runImport(homes, 'openclaw')
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(readSetting(homes.target, key), value, key)
      const stored =
        Object.keys(variables).length === 0 ? new Map() : parseDotenv(contentOf(homes.target, '.env')).entries
      for (const [key, value] of Object.entries(variables)) assert.equal(stored.get(key)?.value, value, key)
      for (const one of left) assert.ok(namesOf(first, 'left').includes(one), `${one} is not reported: ${first.text}`)
      assert.deepEqual(namesOf(first, 'conflict', 'failed'), [])
      assert.deepEqual(await problemsOf(homes.target), [])

      const second = await runImport(homes, 'openclaw')
      assert.deepEqual(namesOf(second, 'taken', 'changed', 'conflict', 'failed'), [])
      assert.deepEqual(snapshot(homes.source), before)
      assert.equal(/"k-\d+|\bk-\d+\b/.test(first.text), false, 'the report contains a secret')
    })
  }
})

test('the workspace, approvals, keys and jobs of OpenClaw become those of this gateway', async (t) => {
  const home = openclawHomes[2]
  assert.ok(home !== undefined)
  const homes = homesWith(t, home.files)
  await runImport(homes, 'openclaw')
  const content = (path: string) => contentOf(homes.target, path)
  assert.equal(content('SOUL.md'), '# Soul\nBe calm.\n\nName: Clawd\n')
  assert.equal(content('memories/MEMORY.md'), 'People: Ada likes tea\n§\nPeople: A paragraph of two lines.')
  assert.equal(content('memories/USER.md'), 'Name: Eve')
  assert.equal(content('workspace/memory/2026-05-01.md'), 'a day')
  assert.match(content('skills/openclaw/a/SKILL.md'), /own$/)
  assert.match(content('skills/openclaw/b/SKILL.md'), /shared$/)
  assert.deepEqual(Object.keys(JSON.parse(content('platforms/pairing/telegram-approved.json'))), ['777'])
  const { credential_pool: pool } = JSON.parse(content('auth.json'))
  const keys = pool.anthropic.map(({ access_token: key, priority }: Record<string, unknown>) => [key, priority])
  assert.deepEqual(keys, [
    ['k-12', 1],
    ['k-13', 0],
  ])
  assert.equal(modeOf(join(homes.target, 'auth.json')), 0o600)
  const { jobs } = JSON.parse(content('cron/jobs.json'))
  const shown = jobs.map((job: Record<string, unknown>) => [
    job['prompt'],
    job['schedule'],
    job['deliver'],
    job['enabled'],
  ])
  assert.deepEqual(shown, [
    ['Sum up', { kind: 'cron', expr: '0 7 * * *', display: '0 7 * * *' }, 'telegram:-1001:99', true],
    [
      'Remind me',
      { kind: 'once', run_at: '2027-01-01T08:00:00.000Z', display: 'once at 2027-01-01T08:00:00.000Z' },
      'local',
      true,
    ],
    ['x', { kind: 'interval', minutes: 60, display: 'every 60m' }, 'local', false],
  ])
})

test('a memory that is too long is kept whole beside the entries that fit', async (t) => {
  const items = Array.from({ length: 100 }, (_, index) => `- fact ${index} ${'x'.repeat(40)}`)
  const homes = homesWith(t, { 'openclaw.json': '{}', 'workspace/MEMORY.md': items.join('\n') })
  await runImport(homes, 'openclaw')
  const memory = contentOf(homes.target, 'memories/MEMORY.md')
  assert.ok(memory.length <= 2_200 && memory.startsWith('fact 0'))
  assert.equal(contentOf(homes.target, 'workspace/MEMORY.md'), items.join('\n'))
})

test('a configuration that is not JSON5 does not stop the rest', async (t) => {
  const homes = homesWith(t, { 'openclaw.json': '{ channels: {', 'workspace/SOUL.md': 'Hi.' })
  const report = await runImport(homes, 'openclaw')
  assert.deepEqual(
    [report.code, namesOf(report, 'failed'), namesOf(report, 'taken')],
    [1, ['openclaw.json'], ['SOUL.md']],
  )
})
