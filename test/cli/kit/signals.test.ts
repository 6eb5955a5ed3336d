import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { readPidFile } from '../../../src/cli/kit/daemon.ts'
import { installSignalHandlers } from '../../../src/cli/kit/signals.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { assertFailed, hermes, homeWith, quietConfig, runInProcess, startDaemon, startHermes } from '../support.ts'

function installHandlers(onTerminal: boolean) {
  const source = new EventEmitter()
  const calls: (string | number)[] = []
  const clock = { now: 1_000 }
  const remove = installSignalHandlers({
    source,
    onTerminal,
    clock: () => clock.now,
    stop: () => calls.push('stop'),
    exit: (code) => calls.push(code),
    reload: () => calls.push('reload'),
    restart: () => calls.push('restart'),
  })
  return { source, calls, clock, remove }
}

test('the first signal requests a stop, the second one exits at once with the code of the signal', () => {
  const { source, calls, remove } = installHandlers(false)
  for (const name of ['SIGTERM', 'SIGTERM', 'SIGINT']) source.emit(name, name)
  assert.deepEqual(calls, ['stop', 143, 130])
  remove()
  assert.deepEqual(source.eventNames(), [])
})

test('a Ctrl-C that a launcher forwards in addition counts once', () => {
  const { source, calls, clock } = installHandlers(true)
  source.emit('SIGINT', 'SIGINT')
  clock.now += 20
  source.emit('SIGINT', 'SIGINT')
  assert.deepEqual(calls, ['stop'])
  clock.now += 1_000
  source.emit('SIGINT', 'SIGINT')
  assert.deepEqual(calls, ['stop', 130])
})

test('SIGHUP reloads the configuration, but ends a daemon whose terminal was closed', () => {
  const service = installHandlers(false)
  service.source.emit('SIGHUP', 'SIGHUP')
  assert.deepEqual(service.calls, ['reload'])
  const terminal = installHandlers(true)
  terminal.source.emit('SIGHUP', 'SIGHUP')
  assert.deepEqual(terminal.calls, ['stop'])
})

test('SIGUSR1 restarts the daemon, unless it stops already', () => {
  const { source, calls } = installHandlers(false)
  source.emit('SIGUSR1', 'SIGUSR1')
  source.emit('SIGTERM', 'SIGTERM')
  source.emit('SIGUSR1', 'SIGUSR1')
  assert.deepEqual(calls, ['restart', 'stop'])
})

test('SIGTERM waits for the running turn; a second one exits at once and removes the pid file', async (t) => {
  const model = await startOpenAiServer({ defaultReply: () => ({ text: 'never the whole', hang: 'stream' }) })
  t.after(() => model.stop())
  const home = homeWith(
    t,
    `${quietConfig}provider: openai\nmodel: m\nbase_url: ${model.baseUrl}\napi_key: sk-test-0123456789\n`,
  )
  const daemon = await startDaemon(t, home.root)
  const gone = new AbortController()
  const asked = askUntil(gone.signal, daemon.url, readFileSync(home.tokenFile, 'utf8').trim())
  await model.request(0)
  daemon.child.kill('SIGTERM')
  await daemon.waitForOutput('"event":"gateway.stopping"')
  assert.equal(daemon.child.exitCode, null)
  assert.equal(existsSync(home.pidFile), true)
  daemon.child.kill('SIGTERM')
  assert.equal((await daemon.exited).code, 143)
  assert.ok(!daemon.text().includes('"event":"gateway.stopped"'))
  assert.equal(existsSync(home.pidFile), false)
  gone.abort()
  await asked
})

/** Sends a message to the daemon, and waits for its end or for the signal. Routes are added shortly after the start. */
async function askUntil(signal: AbortSignal, url: string, token: string): Promise<void> {
  const request = {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] }),
    signal,
  }
  try {
    while ((await fetch(`${url}/v1/chat/completions`, request)).status === 503);
  } catch {
    // The daemon has exited with the connection open.
  }
}

test('SIGUSR1 and hermes gateway restart keep the process of the daemon and open no debugger; then SIGHUP and SIGTERM work as before', async (t) => {
  const home = homeWith(t)
  const daemon = await startDaemon(t, home.root)
  daemon.child.kill('SIGUSR1')
  await daemon.waitForOutput('"event":"gateway.restarted"')
  while (daemon.text().split('"event":"gateway.ready"').length <= 2) await setTimeout(20)
  assert.equal(readPidFile(home)?.pid, daemon.child.pid)
  const again = await runInProcess(home.root, ['gateway', 'restart'])
  assert.equal(again.code, 0, again.stderr)
  assert.equal(readPidFile(home)?.pid, daemon.child.pid)
  writeFileSync(home.configFile, quietConfig.replace('drain_timeout: 20', 'drain_timeout: 7'))
  daemon.child.kill('SIGHUP')
  await daemon.waitForOutput('"agent.drain_timeout"')
  daemon.child.kill('SIGTERM')
  const { code, stderr } = await daemon.exited
  assert.equal(code, 0)
  assert.match(stderr, /"event":"gateway\.stopped"/)
  // Node reports the address of its debugger, or that another process uses its port.
  assert.doesNotMatch(stderr, /debugger|inspector/i)
})

test('an invalid configuration degrades the daemon, and with --strict the daemon exits with 78', async (t) => {
  const home = homeWith(t, 'http: {port: 0}\nmax_iterations: many\n')
  const environment = { HERMES_HTTP_PORT: '0' }
  const strict = await hermes(t, ['gateway', 'run', '--strict'], { home: home.root, environment })
  assertFailed(strict, 'config/invalid', /config\.yaml:2:17 +max_iterations: /)
  const daemon = startHermes(t, ['gateway', 'run'], { home: home.root, environment })
  await daemon.waitForOutput('"event":"gateway.ready"')
  const { code, stdout } = await runInProcess(home.root, ['status'], { environment })
  assert.equal(code, 0)
  assert.match(stdout, /^Degraded {2}.*config\.yaml:2:17/m)
  daemon.child.kill('SIGINT')
  assert.equal((await daemon.exited).code, 0)
  assert.match(readFileSync(`${home.logs}/gateway.log`, 'utf8'), /"event":"gateway\.stopped"/)
})
