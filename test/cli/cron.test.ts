import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lockHome } from '../../src/store/sqlite/lock.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { assertFailed, homeWith, quietConfig, runInProcess } from './support.ts'

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
  assert.match((await hermes('pause', 'backups')).stdout, /· paused ·/)
  assert.match((await hermes('list')).stdout, /backups/)
  assert.match((await hermes('status')).stdout, /1 jobs, 0 with a next time/)
  assert.equal((await hermes('remove', job?.id ?? '')).code, 0)
  assert.match((await hermes('list')).stdout, /no scheduled jobs/)
  assertFailed(await hermes('create', 'now and then', 'x'), 'http/bad-request', /not a schedule/)
})

test('hermes cron works on the stored jobs while no gateway runs', async (t) => {
  const home = homeWith(t)
  const hermes = (...words: string[]) => runInProcess(home.root, ['cron', ...words])
  assert.match((await hermes('list')).stdout, /no scheduled jobs/)
  assert.ok(!existsSync(home.databaseFile), 'a list creates nothing')
  const created = await hermes(
    'create',
    'every 2h',
    'check the backups',
    '--name',
    'backups',
    '--repeat',
    '3',
    '--json',
  )
  assert.equal(created.code, 0, created.stderr)
  const [job]: { id: string; repeat: { times: number } }[] = JSON.parse(created.stdout)
  assert.equal(job?.repeat.times, 3)
  assert.match((await hermes('edit', 'backups', '--schedule', 'weekdays at 9am')).stdout, /changed.*weekdays at 9am/)
  assert.match((await hermes('pause', 'backups')).stdout, /· paused ·/)
  assert.match((await hermes('resume', job?.id ?? '')).stdout, /goes on/)
  const shown = (await hermes('show', 'backups')).stdout
  assert.match(shown, /^prompt: check the backups$/m)
  assert.match(shown, /^state: waits$/m)
  assert.match((await hermes('status')).stdout, /No gateway runs[\s\S]*1 jobs, 1 with a next time, 0 that run now/)
  assertFailed(await hermes('create', 'now and then', 'x'), 'cli/usage', /not a schedule/)
  assertFailed(await hermes('create', 'every 1h', 'x', '--skills', 'nosuch'), 'cli/usage', /nosuch/)
  assertFailed(await hermes('create', 'every 1h', 'x', '--toolsets', 'nosuch'), 'cli/usage', /nosuch/)
  assertFailed(await hermes('create', 'every 1h', 'x', '--repeat', 'often'), 'cli/usage', /repeat/)
  const file: { jobs: { id: string }[] } = JSON.parse(readFileSync(join(home.cron, 'jobs.json'), 'utf8'))
  assert.deepEqual(
    file.jobs.map(({ id }) => id),
    [job?.id],
  )
  assert.match((await hermes('remove', 'backups')).stdout, /removed/)
  assert.match((await hermes('list')).stdout, /no scheduled jobs/)
})

test('hermes cron list takes over jobs.json while no gateway runs, and running a job needs a gateway', async (t) => {
  const home = homeWith(t)
  mkdirSync(home.cron, { recursive: true })
  const job = { id: 'morning', name: 'Report', schedule: { kind: 'interval', minutes: 5, display: 'every 5m' } }
  writeFileSync(join(home.cron, 'jobs.json'), JSON.stringify({ jobs: [{ ...job, prompt: 'x' }, { id: 'bad' }] }))
  assert.match(
    (await runInProcess(home.root, ['cron', 'list'])).stdout,
    /No gateway runs[\s\S]*morning +Report · every 5m/,
  )
  const missing = await runInProcess(home.root, ['cron', 'run', 'morning'])
  assert.equal(missing.code, 3)
  assert.match(missing.stderr, /hermes cron tick[\s\S]*\(cli\/no-daemon\)/)
  writeFileSync(join(home.cron, 'jobs.json'), '{"jobs": [')
  const broken = await runInProcess(home.root, ['cron', 'pause', 'morning'])
  assert.equal(broken.code, 0, broken.stderr)
  assert.match(broken.stderr, /jobs\.json is not used/)
  assert.equal(readFileSync(join(home.cron, 'jobs.json'), 'utf8'), '{"jobs": [')
})

test('hermes cron changes nothing while another process uses the home without a gateway that answers', async (t) => {
  const home = homeWith(t)
  const lock = lockHome(home.lockFile)
  t.after(() => lock.release())
  assertFailed(await runInProcess(home.root, ['cron', 'create', 'every 1h', 'x']), 'home/locked')
})

test('hermes cron tick carries out the jobs that are due once, and ends', async (t) => {
  const server = await startOpenAiServer({ defaultReply: () => ({ text: 'There is news.' }) })
  t.after(() => server.stop())
  const home = homeWith(
    t,
    `${quietConfig}provider: openai\nmodel: test-model\nbase_url: ${server.baseUrl}\napi_key: sk-test-0123456789\n`,
  )
  mkdirSync(home.cron, { recursive: true })
  const missed = new Date(Date.now() - 9_000_000).toISOString()
  const schedule = { kind: 'interval', minutes: 60, display: 'every 1h' }
  const job = { id: 'news', prompt: 'Look for news', schedule, next_run_at: missed, deliver: 'local' }
  writeFileSync(join(home.cron, 'jobs.json'), JSON.stringify({ jobs: [job] }))
  const ticked = await runInProcess(home.root, ['cron', 'tick'])
  assert.equal(ticked.code, 0, ticked.stderr)
  assert.match(ticked.stdout, /news · Look for news · ok/)
  const [output = ''] = readdirSync(join(home.cron, 'output', 'news'))
  assert.match(readFileSync(join(home.cron, 'output', 'news', output), 'utf8'), /There is news\./)
  assert.match((await runInProcess(home.root, ['cron', 'tick'])).stdout, /No job is due/)
  assert.equal(server.requests.length, 1)
})
