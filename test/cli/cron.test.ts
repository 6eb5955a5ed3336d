import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { assertFailed, homeWith, runInProcess } from './support.ts'

test('hermes cron makes, changes, lists and removes the jobs of a running gateway', async (t) => {
  const { home } = await startTestGateway(t)
  const hermes = (...words: string[]) => runInProcess(home.root, ['cron', ...words])
  const created = await hermes(
    'create',
    'every 2h',
    'check the backups',
    '--name',
    'backups',
    '--skills',
    'daily-plan, extend-hermes',
    '--json',
  )
  assert.equal(created.code, 0, created.stderr)
  const [job]: { id: string; skills: string[] }[] = JSON.parse(created.stdout)
  assert.deepEqual(job?.skills, ['daily-plan', 'extend-hermes'])
  assert.match((await hermes('edit', 'backups', '--schedule', 'weekdays at 9am')).stdout, /weekdays at 9am/)
  assert.match((await hermes('pause', 'backups')).stdout, /next: paused/)
  assert.match((await hermes('list')).stdout, /backups/)
  assert.match((await hermes('status')).stdout, /1 jobs, 0 with a next time/)
  assert.equal((await hermes('remove', job?.id ?? '')).code, 0)
  assert.match((await hermes('list')).stdout, /no scheduled jobs/)
  assertFailed(await hermes('create', 'now and then', 'x'), 'http/bad-request', /not a schedule/)
})

test('hermes cron list reads the file while no gateway runs, and other commands say that one is missing', async (t) => {
  const home = homeWith(t)
  mkdirSync(home.cron, { recursive: true })
  const job = { id: 'morning', name: 'Report', schedule: { kind: 'interval', minutes: 5, display: 'every 5m' } }
  writeFileSync(join(home.cron, 'jobs.json'), JSON.stringify({ jobs: [job] }))
  assert.match(
    (await runInProcess(home.root, ['cron', 'list'])).stdout,
    /No gateway runs[\s\S]*morning · Report · every 5m/,
  )
  const missing = await runInProcess(home.root, ['cron', 'run', 'morning'])
  assert.equal(missing.code, 3)
  assert.match(missing.stderr, /\(cli\/no-daemon\)/)
})
