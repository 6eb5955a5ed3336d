import assert from 'node:assert/strict'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { findRunningDaemon } from '../../src/cli/kit/daemon.ts'
import { errorCatalogue } from '../../src/lib/error-catalogue.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import { ensureDirectory } from '../../src/lib/files.ts'
import { writePidFile } from '../../src/lib/pid-file.ts'
import { lockHome } from '../../src/store/sqlite/lock.ts'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { writeFiles } from '../plugins/loader-support.ts'
import { seedHome } from './seed-home.ts'
import { assertFailed, hermes, homeWith, packageVersion, quietConfig, runInProcess, startHermes } from './support.ts'

/** A home whose model is a local server with these responses. */
async function homeWithModel(t: TestContext, reply: ModelReply) {
  const server = await startOpenAiServer({ defaultReply: () => reply })
  t.after(() => server.stop())
  const config = `${quietConfig}provider: openai\nmodel: test-model\nbase_url: ${server.baseUrl}\napi_key: sk-test-0123456789\n`
  return { home: homeWith(t, config), server }
}

test('chat --query works without a daemon, logs only to the file and releases the home', async (t) => {
  const { home } = await homeWithModel(t, { text: 'All **well**\u001b[2J.' })
  const run = await runInProcess(home.root, ['chat', '-q', 'How are you?', '--session', 'mine'])
  assert.deepEqual(run, { code: 0, stdout: 'All **well**[2J.\n', stderr: '' })
  assert.match(readFileSync(`${home.logs}/gateway.log`, 'utf8'), /"event":"gateway\.ready"/)
  lockHome(home.lockFile).release()
  const { stdout } = await runInProcess(home.root, ['sessions', 'list'])
  assert.match(stdout, /^\S+ {2}\S+ {2}cli {2}How are you\?$/m)
})

test('chat --query without a text reads the question from stdin', async (t) => {
  const { home, server } = await homeWithModel(t, { text: 'fine' })
  const asked = startHermes(t, ['chat', '-q'], { home: home.root, input: 'How are\nyou?\n' })
  const dash = await hermes(t, ['chat', '-q', '-'], { home: home.root, input: '' })
  assertFailed(dash, 'cli/usage')
  assert.deepEqual(await asked.exited, { code: 0, stdout: 'fine\n', stderr: '' })
  assert.match(JSON.stringify(server.requests[0]?.body['messages']), /How are\\nyou\?/)
})

test('chat --query reports on stderr that the demonstration answers', async (t) => {
  const home = homeWith(t)
  const { code, stdout, stderr } = await runInProcess(home.root, ['chat', '-q', 'Reply exactly ok'])
  assert.deepEqual([code, stdout], [0, 'ok\n'])
  assert.ok(stderr.includes('(config/no-model)'), stderr)
})

test('a failed chat --query prints the reason and a hint on stderr, and nothing on stdout', async (t) => {
  const { home } = await homeWithModel(t, { error: { status: 401, body: { error: { message: 'no such key' } } } })
  chmodSync(home.configFile, 0o600)
  const failed = await runInProcess(home.root, ['chat', '-q', 'hello'])
  assert.equal(failed.stdout, '')
  assertFailed(failed, 'provider/auth', errorCatalogue['provider/auth'].hint)
  assert.equal(failed.stderr.match(/^hermes: /gm), null, 'the failure is printed once')
  assert.ok(!failed.stderr.includes('sk-test-0123456789'))
})

/** Nothing listens on this port of the loopback address. */
const deadModel = 'provider: openai\nmodel: test-model\nbase_url: http://127.0.0.1:9/v1\napi_key: sk-test-0123456789\n'

test('chat --query reports at once that the model cannot be reached and is called again', async (t) => {
  const home = homeWith(t, `http: {port: 0}\n${deadModel}`)
  const asked = startHermes(t, ['chat', '-q', 'hello'], { home: home.root })
  await asked.waitForOutput('hermes: The connection to 127.0.0.1:9 failed')
  asked.child.kill('SIGINT')
  const { code, stdout } = await asked.exited
  assert.deepEqual([code, stdout], [130, ''])
})

test('the failure after the retries is printed once', async (t) => {
  const home = homeWith(t, `http: {port: 0}\nagent: {retry_window: 1}\n${deadModel}`)
  chmodSync(home.configFile, 0o600)
  const failed = await runInProcess(home.root, ['chat', '-q', 'hello'])
  assert.equal(failed.stdout, '')
  assertFailed(failed, 'provider/network', errorCatalogue['provider/network'].hint)
  assert.equal(failed.stderr.match(/^hermes: /gm)?.length, 1, failed.stderr)
})

test('chat --query reports on stderr each plugin that cannot be loaded', async (t) => {
  const { home } = await homeWithModel(t, { text: 'fine' })
  writeFiles(home.plugins, {
    'clock/plugin.yaml': 'name: clock\n',
    'clock/index.ts': "export const register = () => {\n  throw new Error('no time')\n}\n",
  })
  chmodSync(home.configFile, 0o600)
  assert.equal((await runInProcess(home.root, ['plugins', 'enable', 'clock'])).code, 0)
  const asked = await runInProcess(home.root, ['chat', '-q', 'hello'])
  assert.deepEqual([asked.code, asked.stdout], [0, 'fine\n'])
  assert.match(asked.stderr, /^hermes: plugin clock .*index\.ts:2.*no time\n$/)
})

test('Ctrl-C during a turn exits with 130, and the turn is not resumed', async (t) => {
  const { home, server } = await homeWithModel(t, { text: 'never the whole', hang: 'stream', hangAfter: 2 })
  const asked = startHermes(t, ['chat', '-q', 'hello'], { home: home.root })
  await server.request(0)
  asked.child.kill('SIGINT')
  const { code, stdout } = await asked.exited
  assert.deepEqual([code, stdout], [130, ''])
  server.setDefault(() => ({ text: 'fresh' }))
  assert.equal((await runInProcess(home.root, ['chat', '-q', 'again'])).stdout, 'fresh\n')
  assert.equal(server.requestCount, 2)
})

test('a chat on a home that another process uses is refused', async (t) => {
  const home = homeWith(t)
  const lock = lockHome(home.lockFile)
  t.after(() => lock.release())
  const refused = await runInProcess(home.root, ['chat', '-q', 'hello'])
  assertFailed(refused, 'home/locked', home.root, 'hermes chat')
})

test('without a daemon dead letters are retried and dropped in the database of the home', async (t) => {
  const home = homeWith(t)
  const { seq, id } = await seedHome(home)
  const retried = await runInProcess(home.root, ['inbox', 'retry', `${seq}`])
  assert.deepEqual([retried.code, retried.stderr], [0, ''])
  const [event] = JSON.parse((await runInProcess(home.root, ['inbox', 'list', '--json'])).stdout)
  assert.deepEqual([event.state, event.tries, event.text], ['queued', 0, 'Reply exactly seeded'])
  assert.equal((await runInProcess(home.root, ['outbox', 'drop', `${id}`])).code, 0)
  assert.equal((await runInProcess(home.root, ['outbox', 'list', '--json'])).stdout, '[]\n')
  const missing = await runInProcess(home.root, ['outbox', 'drop', '999'])
  assertFailed(missing, 'cli/not-found', '999')
})

test('a change is refused while another process holds the home and does not respond', async (t) => {
  const home = homeWith(t)
  const { seq } = await seedHome(home)
  const lock = lockHome(home.lockFile)
  t.after(() => lock.release())
  assertFailed(await runInProcess(home.root, ['inbox', 'drop', `${seq}`]), 'home/locked', home.root)
})

test('the pid file of a killed daemon is ignored, and its port does not receive the token', async (t) => {
  const home = homeWith(t)
  const receivedTokens: unknown[] = []
  const stranger = createServer((request, response) => {
    receivedTokens.push(request.headers.authorization)
    response.end('{}')
  })
  await new Promise<void>((resolve) => {
    stranger.listen(0, '127.0.0.1', resolve)
  })
  t.after(() => stranger.close())
  const address = stranger.address()
  assert.ok(typeof address === 'object' && address !== null)
  const dead = startHermes(t, ['--version'], { home: home.root })
  await dead.exited
  announce(home, `http://127.0.0.1:${address.port}`, dead.child.pid ?? 0)
  assert.equal((await runInProcess(home.root, ['status'])).code, 3)
  assert.deepEqual(receivedTokens, [])
})

test('a pause that waits for the next start is in the status', async (t) => {
  const home = homeWith(t, '')
  await runInProcess(home.root, ['pause', 'holidays'])
  const { stdout, code } = await runInProcess(home.root, ['status', '--json'])
  assert.equal(code, 3)
  assert.match(JSON.parse(stdout).degraded[0], /holidays/)
  assert.match((await runInProcess(home.root, ['status'])).stdout, /Degraded.*holidays/)
  await runInProcess(home.root, ['pause', 'off'])
  assert.deepEqual(JSON.parse((await runInProcess(home.root, ['status', '--json'])).stdout).degraded, [])
})

type Home = ReturnType<typeof homeWith>

function announce(home: Home, url: string, pid: number): void {
  writeFileSync(home.tokenFile, 'a-token-of-a-test-0123456789\n', { mode: 0o600 })
  // The path of the pid file, which a daemon writes at its start.
  ensureDirectory(home.cache)
  writePidFile(home, { pid, url })
}

/** A server that answers every request with this text, or never. */
async function homeWithDaemonResponse(t: TestContext, text: string | undefined): Promise<Home> {
  const home = homeWith(t)
  const server = createServer((_request, response) => {
    if (text !== undefined) response.end(text)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  announce(home, `http://127.0.0.1:${address.port}`, process.pid)
  return home
}

const report = {
  version: '9.9.9',
  pid: process.pid,
  home: '/somewhere',
  url: 'http://127.0.0.1:1',
  status: 'ready',
  uptimeMs: 5_000,
  model: 'm',
  provider: 'openai',
  platforms: {},
  degraded: ['the disk is slow'],
  pendingRestart: ['http.port'],
  turns: { running: 0, waiting: 0 },
  newerField: true,
}

test('a daemon of another version is supported where possible, and its version is shown', async (t) => {
  const home = await homeWithDaemonResponse(t, JSON.stringify(report))
  const { code, stdout, stderr } = await runInProcess(home.root, ['status'])
  assert.equal(code, 0)
  assert.match(stdout, /hermes-gateway 9\.9\.9 is ready, but degraded/)
  assert.match(stdout, /^Restart needed {2}http\.port/m)
  assert.ok(stderr.includes(report.version) && stderr.includes(packageVersion), stderr)
})

test('status lists running background tasks', async (t) => {
  const background = [{ id: 'bg_120000_0a1b2c3d', by: 'hook boot-md', ageMs: 61_000 }]
  const home = await homeWithDaemonResponse(t, JSON.stringify({ ...report, background }))
  const { stdout } = await runInProcess(home.root, ['status'])
  assert.match(stdout, /^Background {2}bg_120000_0a1b2c3d hook boot-md, for 1 min$/m)
})

test('status shows whether a platform receives events, if the platform reports it', async (t) => {
  const platforms = {
    chat: { state: 'connected', receiving: true },
    deaf: { state: 'connected', receiving: false },
    gone: { state: 'failed', reason: 'wrong token', receiving: false },
    torn: { state: 'connected', reason: 'another program asks', receiving: true },
    web: { state: 'connected' },
  }
  const home = await homeWithDaemonResponse(t, JSON.stringify({ ...report, platforms }))
  const { stdout } = await runInProcess(home.root, ['status'])
  const doctor = await runInProcess(home.root, ['doctor', '--offline'])
  // It answers every other route in another way.
  assert.match(doctor.stdout, /^! Gateway: the running gateway is of another version$/m)
  assert.doesNotMatch(doctor.stdout, /as a bug/)
  assert.deepEqual(
    doctor.stdout.split('\n').filter((line) => /^. Gateway: (?:chat|deaf|gone|torn|web) /.test(line)),
    ['! Gateway: gone failed: wrong token', '! Gateway: torn degraded: another program asks'],
  )
  assert.deepEqual(
    stdout.split('\n').filter((line) => line.startsWith('Platforms')),
    [
      'Platforms  chat connected, receiving',
      'Platforms  deaf connected, not receiving',
      'Platforms  gone failed: wrong token',
      'Platforms  torn degraded: another program asks',
      'Platforms  web connected',
    ],
  )
})

test('a response in an unknown format is reported as a daemon of another version', async (t) => {
  const home = await homeWithDaemonResponse(t, JSON.stringify({ version: '99' }))
  assertFailed(await runInProcess(home.root, ['status']), 'cli/incompatible-response')
})

test('a daemon that does not respond is reported with its process id', async (t) => {
  const home = await homeWithDaemonResponse(t, undefined)
  const search = findRunningDaemon({ home, token: () => 'x'.repeat(20), timeoutMs: 50 })
  await assert.rejects(search, (error) => {
    assert.ok(isHermesError(error, 'cli/daemon-silent'))
    assert.match(error.message, new RegExp(`\\b${process.pid}\\b.* http://127`))
    return true
  })
})

test('an invalid database and one of a newer version are reported with a hint', async (t) => {
  const home = homeWith(t)
  writeFileSync(home.databaseFile, 'this is not a database, whatever its name says'.repeat(50))
  for (const words of [
    ['sessions', 'list'],
    ['inbox', 'list'],
    ['chat', '-q', 'hello'],
  ]) {
    assertFailed(await runInProcess(home.root, words), 'store/corrupt')
  }
  const shown = await runInProcess(home.root, ['status'])
  assert.equal(shown.code, 3)
  assert.match(shown.stdout, /^Needs you {2}.*\(store\/corrupt\)$/m)

  const newer = homeWith(t)
  const db = new DatabaseSync(newer.databaseFile)
  db.exec('pragma user_version = 999')
  db.close()
  assertFailed(await runInProcess(newer.root, ['sessions', 'search', 'x']), 'store/newer-schema')
})
