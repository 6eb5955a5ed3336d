import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { type SeedResult, seedHome } from '../seed-home.ts'
import {
  assertFailed,
  hermes,
  type ProcessResult,
  packageVersion,
  quietConfig,
  type RunningProcess,
  runInProcess,
  startDaemon,
} from '../support.ts'

describe('with a running daemon', () => {
  const home = createHomeLayout(mkdtempSync(join(tmpdir(), 'hermes-test-')))
  const cleaners: (() => Promise<void> | void)[] = []
  let daemon: RunningProcess & { readonly url: string }
  let seeded: SeedResult

  before(async () => {
    writeFileSync(home.configFile, quietConfig)
    seeded = await seedHome(home)
    const owner = { after: (clean: () => Promise<void> | void) => cleaners.push(clean) }
    daemon = await startDaemon(owner, home.root)
  })
  after(async () => {
    for (const clean of cleaners) await clean()
    rmSync(home.root, { recursive: true, force: true })
  })
  const here = (...words: string[]): Promise<ProcessResult> => runInProcess(home.root, words)

  test('chat --query prints only the reply', async () => {
    const run = await here('chat', '--query', 'Reply exactly ok')
    assert.deepEqual([run.code, run.stdout], [0, 'ok\n'])
  })

  test('two chats at the same time and the lines of a pipe use the same daemon', async (t) => {
    const input = 'Reply exactly one\nReply exactly two\n/exit\n'
    const [piped, asked] = await Promise.all([
      hermes(t, ['chat', '--session', 'piped'], { home: home.root, input }),
      hermes(t, ['chat', '-q', 'Reply exactly three'], { home: home.root }),
    ])
    assert.deepEqual([piped.code, piped.stdout], [0, 'one\ntwo\n'])
    assert.deepEqual([asked.code, asked.stdout], [0, 'three\n'])
    for (const { stderr } of [piped, asked]) assert.ok(stderr.includes('(config/no-model)'), stderr)
  })

  test('status reports the state of the gateway for people and as JSON', async () => {
    const plain = await here('status')
    assert.equal(plain.code, 0, plain.stderr)
    assert.match(
      plain.stdout,
      new RegExp(`^hermes-gateway ${packageVersion.replaceAll('.', '\\.')} .*\\b${daemon.child.pid}\\b`),
    )
    assert.match(plain.stdout, /^Platforms {2}web connected$/m)
    assert.match(plain.stdout, /^Needs you {2}1 .*: hermes inbox list$/m)
    assert.match(plain.stdout, /^Needs you {2}1 .*: hermes outbox list$/m)
    const { stdout, code } = await here('gateway', 'status', '--json')
    const report: unknown = JSON.parse(stdout)
    assert.equal(code, 0)
    assert.partialDeepStrictEqual(report, {
      running: true,
      status: 'ready',
      pid: daemon.child.pid,
      url: daemon.url,
      platforms: { web: { state: 'connected' } },
      waiting: { open: 0, dead_letters: 1, dead: 1, parked: 1 },
    })
  })

  test('web url prints the real address with the token in the fragment, and nothing else', async () => {
    const token = readFileSync(home.tokenFile, 'utf8').trim()
    assert.deepEqual(await here('web', 'url'), { code: 0, stdout: `${daemon.url}/#token=${token}\n`, stderr: '' })
  })

  test('doctor finds the daemon and recognises its port', async () => {
    const { code, stdout } = await here('doctor')
    assert.equal(code, 0, stdout)
    assert.match(stdout, new RegExp(`^✓ Gateway: .*\\b${daemon.child.pid}\\b.*${daemon.url}$`, 'm'))
    assert.match(stdout, new RegExp(`^✓ Port: ${new URL(daemon.url).port} `, 'm'))
    assert.match(stdout, /^! Dead letters: 1 .*hermes inbox list$/m)
  })

  test('a second daemon on the same home is refused with the process that holds it', async (t) => {
    const refused = await hermes(t, ['gateway', 'run'], { home: home.root })
    assertFailed(refused, 'home/locked', `${daemon.child.pid}`, daemon.url, 'hermes gateway stop')
  })

  test('conversations are listed, searched by their text and shown completely', async () => {
    const list = await here('sessions', 'list')
    const line = list.stdout.split('\n').find((one) => one.includes('Reply exactly ok'))
    const id = line?.split('  ')[0] ?? ''
    assert.match(id, /^\d{8}_\d{6}_[0-9a-f]{8}$/)
    const found = await here('sessions', 'search', 'ok', 'exactly')
    assert.match(found.stdout, new RegExp(`^${id} {2}\\S+ {2}user {2}Reply «exactly» «ok»$`, 'm'))
    const whole = await here('sessions', 'show', id)
    assert.match(whole.stdout, /^user {2}\S+\nReply exactly ok\n\nassistant {2}\S+\nok\n$/m)
    const key = /^Key {2}(\S+)$/m.exec(whole.stdout)?.[1] ?? ''
    assert.equal((await here('sessions', 'show', key)).stdout, whole.stdout)
    const { session, messages } = JSON.parse((await here('sessions', 'show', id, '--json')).stdout)
    assert.deepEqual([session.id, session.session_key, messages.length], [id, key, 2])
    assert.equal(JSON.parse((await here('sessions', 'list', '--json', '--limit', '1')).stdout).length, 1)
  })

  test('an unknown session is reported with its id and a hint', async () => {
    const unknown = await here('sessions', 'show', 'no\u001b[2Jne')
    assert.equal(unknown.stdout, '')
    assertFailed(unknown, 'cli/not-found', '"no\\\\u001b[2Jne"')
  })

  test('a dead letter of the inbox is listed, retried through the daemon and answered', async () => {
    const list = await here('inbox', 'list')
    assert.match(list.stdout, new RegExp(`^${seeded.seq}  dead letter  \\S+  cli:seeded  0  Reply exactly seeded `))
    const retried = await here('inbox', 'retry', `${seeded.seq}`)
    assert.deepEqual([retried.code, retried.stderr], [0, ''])
    const again = await here('inbox', 'drop', `${seeded.seq}`)
    assertFailed(again, 'cli/not-found', `${seeded.seq}`)
  })

  test('a dead letter of the outbox is listed and dropped through the daemon', async () => {
    const [letter] = JSON.parse((await here('outbox', 'list', '--json')).stdout)
    assert.deepEqual([letter.id, letter.text], [seeded.id, 'an undelivered reply'])
    const dropped = await here('outbox', 'drop', `${seeded.id}`)
    assert.deepEqual([dropped.code, dropped.stderr], [0, ''])
    assert.equal((await here('outbox', 'list', '--json')).stdout, '[]\n')
    assert.equal((await here('outbox', 'retry', `${seeded.id}`)).code, 1)
  })

  test('a token that differs from that of the daemon is reported', async () => {
    const environment = { HERMES_HOME: home.root }
    writeFileSync(
      home.configFile,
      `${quietConfig}http: {port: 0, token: another-token-0123456789}\n`.replace('http: {port: 0}\n', ''),
    )
    const refused = await runInProcess(home.root, ['status'], { environment })
    assertFailed(refused, 'http/unauthorised', 'gateway.token', 'http.token')
    const checked = await here('doctor')
    assert.equal(checked.code, 1)
    assert.match(checked.stdout, /^✗ Gateway: .*\(http\/unauthorised\)$/m)
    writeFileSync(home.configFile, quietConfig)
  })

  test('gateway stop returns when the process has exited, and the daemon removes its pid file', async () => {
    const stopped = await here('gateway', 'stop')
    assert.deepEqual([stopped.code, stopped.stderr], [0, ''])
    assert.equal((await daemon.exited).code, 0)
    assert.equal(existsSync(home.pidFile), false)
    assert.equal((await here('status')).code, 3)
    assert.equal((await here('inbox', 'list', '--json')).stdout, '[]\n')
    // The retried message was answered, because a stop waits for running turns.
    assert.match((await here('sessions', 'search', 'seeded')).stdout, / {2}assistant {2}«seeded»$/m)
  })

  test('a daemon without a terminal prints its address but not its token', async () => {
    const token = readFileSync(home.tokenFile, 'utf8').trim()
    const { stdout, stderr } = await daemon.exited
    assert.ok(stdout.includes(daemon.url), stdout)
    assert.ok(!`${stdout}${stderr}`.includes(token))
  })
})
