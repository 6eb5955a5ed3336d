import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createSession } from '../../src/sessions/session-state.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import { assertFailed, hermes, homeWith, runInProcess, startDaemon, startHermes } from './support.ts'

const environment = { TZ: 'UTC', LANG: 'C.UTF-8' }

function homeWithLog(t: TestContext) {
  const home = homeWith(t)
  mkdirSync(home.logs)
  const write = (level: string, time: string, event: string, more: object = {}) =>
    appendFileSync(join(home.logs, 'gateway.log'), `${JSON.stringify({ level, time, event, ...more, msg: event })}\n`)
  return { home, write }
}

test('the log is shown in lines for people, and as it is stored for scripts', async (t) => {
  const { home, write } = homeWithLog(t)
  write('info', '2026-11-28T23:00:00.000Z', 'gateway.ready')
  write('warn', '2026-11-29T01:00:00.000Z', 'outbox.retried', { tries: 2 })
  const shown = await hermes(t, ['logs'], { home: home.root, environment })
  assert.match(shown.stdout, /^\[2026-11-28 23:00:00\.000\] INFO: gateway\.ready/)
  const lines = (await runInProcess(home.root, ['logs', '--json', '--level', 'warn'])).stdout.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).tries),
    [2],
  )
  const since = await runInProcess(home.root, ['logs', '--json', '--since', '2026-11-29T00:00:00Z', '-n', '5'])
  assert.equal(since.stdout.trim().split('\n').length, 1)
})

test('a conversation is found by its id and by its key', async (t) => {
  const { home, write } = homeWithLog(t)
  const key = 'agent:main:cli:dm:a'
  const store = createSqliteStore({ path: home.databaseFile })
  const newSession = { key, source: '', platform: 'cli', userId: 'a', newSessionId: 's1', now: 1 }
  await store.run(() => createSession(newSession, '', null))
  await store.close()
  write('info', '2026-11-29T01:00:00.000Z', 'turn.started', { session: key })
  write('info', '2026-11-29T01:00:00.000Z', 'turn.started', { session: 'agent:main:cli:dm:b' })
  for (const name of [key, 's1']) {
    const run = await runInProcess(home.root, ['logs', '--json', '--session', name])
    assert.equal(JSON.parse(run.stdout).session, key)
  }
})

test('nothing to show is said on stderr, and wrong values are refused', async (t) => {
  const home = homeWith(t)
  const none = await runInProcess(home.root, ['logs', '--json'])
  assert.deepEqual([none.code, none.stdout], [0, ''])
  assert.ok(none.stderr.includes(home.logs))
  for (const words of [
    ['--level', 'loud'],
    ['--since', 'soon'],
    ['--lines', '0'],
  ])
    assertFailed(await runInProcess(home.root, ['logs', ...words]), 'cli/usage')
})

test('--follow prints lines of a running gateway as they are written, and no secret', async (t) => {
  const home = homeWith(t)
  const secret = 'sk-canary-0123456789abcdef'
  writeFileSync(home.envFile, `OPENAI_API_KEY=${secret}\n`, { mode: 0o600 })
  await startDaemon(t, home.root)
  const follower = startHermes(t, ['logs', '--follow', '--event', 'config.*'], { home: home.root, environment })
  appendFileSync(home.configFile, `model: ${secret}\nnonsense_key: 1\n`)
  await follower.waitForOutput('config.')
  assert.ok(!follower.text().includes(secret))
  follower.child.kill('SIGINT')
  await follower.exited
})
