/**
 * The life of a host's process: when it starts, what it sees, how it ends, and that it is never left behind.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createHost } from '../../src/hosts/host.ts'
import { silentLog } from '../../src/lib/log.ts'
import { tempHome } from '../kit/temp-home.ts'
import {
  createTestHost,
  expectFailure,
  expectValue,
  isAlive,
  path,
  python,
  timeout,
  waitForExit,
  withoutPython,
  writeFiles,
} from './support.ts'

const handlerSources = {
  node: {
    skip: false as const,
    file: 'a.mjs',
    text: `
      export const handle = () => ({ env: process.env, cwd: process.cwd(), argv: process.argv.length })
      export const ask = (_, { gateway }) => gateway.send('a', 'b')
      export const spin = () => { while (true); }
      export const pid = () => process.pid`,
  },
  python: {
    skip: withoutPython,
    file: 'a.py',
    text: `
import os, sys
def handle():
    return {"env": dict(os.environ), "cwd": os.getcwd(), "argv": len(sys.argv) + 1}
def ask(unused, services):
    return services.gateway.send("a", "b")
def spin():
    while True:
        pass
def pid():
    return os.getpid()`,
  },
}

for (const [language, { skip, file, text }] of Object.entries(handlerSources)) {
  const files = { [file]: text }
  /** A call that waits until the test lets it go. */
  const asking = () => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<string>()
    const onRequest = () => {
      asked.resolve()
      return answer.promise
    }
    const call = { module: 'a', function: 'ask', args: [0], services: true, onRequest }
    return { call, asked: asked.promise, answer: () => answer.resolve('answered') }
  }

  describe(`a host in ${language}`, { skip, timeout }, () => {
    it('has exactly the variables and the working directory it was given', async (t) => {
      // Python itself sets LC_CTYPE where no language is given.
      const given = { LANG: 'C.UTF-8', BOT_TOKEN: 'a b "c"', EMPTY: '' }
      const { host, folder } = createTestHost(t, { files, env: () => given })
      const expected = {
        env: { PATH: path, HOME: folder, ...given },
        cwd: folder,
        argv: 2,
      }
      assert.deepEqual(expectValue(await host.call({ module: 'a', args: [] })), expected)
    })

    it('that is stopped finishes the calls in flight, accepts no more, and exits', async (t) => {
      const { host } = createTestHost(t, { files })
      const { call, asked, answer } = asking()
      const pid = Number(expectValue(await host.call({ module: 'a', function: 'pid', args: [] })))
      const waiting = host.call(call)
      await asked
      const stopping = host.stop({ drainMs: 20_000 })
      const late = expectFailure(await host.call({ module: 'a', args: [] }))
      assert.deepEqual([late.kind, late.started, late.error.code], ['stopped', false, 'hosts/stopped'])
      answer()
      assert.equal(expectValue(await waiting), 'answered')
      await stopping
      await host.stop()
      assert.equal(isAlive(pid), false)
      assert.equal(host.status().state, 'stopped')
    })

    it('that is stopped waits no longer than its time limit', async (t) => {
      const { host } = createTestHost(t, { files })
      const { call, asked } = asking()
      const waiting = host.call(call)
      await asked
      await host.stop({ drainMs: 20 })
      const failure = expectFailure(await waiting)
      assert.deepEqual([failure.kind, failure.started, failure.attribution], ['stopped', true, 'other'])
    })

    it('that spins when it is stopped is killed', async (t) => {
      const { host } = createTestHost(t, { files, limits: { exitTimeoutMs: 50 } })
      const pid = Number(expectValue(await host.call({ module: 'a', function: 'pid', args: [] })))
      const spinning = host.call({ module: 'a', function: 'spin', args: [] })
      await host.stop()
      assert.equal(expectFailure(await spinning).kind, 'stopped')
      assert.equal(isAlive(pid), false)
    })

    it('that is stopped before it has started runs nothing', async (t) => {
      const { host } = createTestHost(t, { files })
      const call = host.call({ module: 'a', args: [] })
      await host.stop()
      assert.equal(expectFailure(await call).kind, 'stopped')
      const idle = createTestHost(t, { files })
      await idle.host.stop()
      assert.equal(expectFailure(await idle.host.load('a')).kind, 'stopped')
      assert.equal(idle.host.status().starts, 0)
    })

    it('may run beside its successor while it drains', async (t) => {
      const old = createTestHost(t, { files })
      const { call, asked, answer } = asking()
      const waiting = old.host.call(call)
      await asked
      const next = createTestHost(t, { files })
      const draining = old.host.stop({ drainMs: 20_000 })
      const pid = await next.host.call({ module: 'a', function: 'pid', args: [] })
      assert.equal(expectValue(pid), next.host.status().pid)
      answer()
      assert.equal(expectValue(await waiting), 'answered')
      await draining
      assert.equal(next.host.status().state, 'running')
    })

    it('drops a call that is cancelled before it starts', async (t) => {
      const { host } = createTestHost(t, { files })
      const given = new AbortController()
      const call = host.call({ module: 'a', args: [], signal: given.signal })
      given.abort()
      const failure = expectFailure(await call)
      assert.deepEqual([failure.kind, failure.started], ['aborted', false])
      assert.equal(host.status().kills, 0)
    })

    it('exits with all its child processes when the gateway is killed, even while a handler spins', async (t) => {
      const folder = tempHome(t)
      const starts = language === 'node' ? childOfNode : childOfPython
      writeFiles(folder, { [file]: `${text}\n${starts}` })
      const settings = { folder, file, language, command: language === 'python' ? python : undefined }
      const gateway = spawn(
        process.execPath,
        [fileURLToPath(new URL('./gateway-child.ts', import.meta.url)), JSON.stringify(settings)],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      )
      t.after(() => gateway.kill('SIGKILL'))
      const said = await new Promise<string>((resolve) =>
        gateway.stdout.once('data', (bytes) => resolve(String(bytes))),
      )
      const pids = said.trim().split(' ').map(Number)
      assert.deepEqual(pids.map(isAlive), [true, true, true])
      gateway.kill('SIGKILL')
      await Promise.all(pids.map(waitForExit))
    })
  })
}

const childOfNode = `
import { spawn } from 'node:child_process'
export const child = () => spawn('sleep', ['1000'], { stdio: 'ignore' }).pid`
const childOfPython = `
import subprocess
def child():
    return subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).pid`

describe('a host that cannot start', { timeout }, () => {
  const starting = (t: TestContext, command: string) =>
    createTestHost(t, { files: { 'a.py': 'def handle(): pass' }, command, limits: { startTimeoutMs: 100 } })

  /** In place of the interpreter a shell script; it gets the same arguments and descriptors. */
  const startingScript = (t: TestContext, script: string) => {
    const command = join(tempHome(t), 'python')
    writeFileSync(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return starting(t, command)
  }

  it('because Python is missing reports it, at each call', async (t) => {
    const { host } = starting(t, 'python-that-is-not-there')
    for (const attempt of [1, 2]) {
      const failure = expectFailure(await host.call({ module: 'a', args: [] }))
      assert.deepEqual([failure.kind, failure.started, failure.killed], ['unavailable', false, false])
      assert.match(failure.error.message, /\bpython-that-is-not-there\b/)
      assert.equal(host.status().starts, attempt)
    }
  })

  it('because its folder cannot be created reports it', async (t) => {
    const file = join(tempHome(t), 'file')
    writeFileSync(file, '')
    const host = createHost({
      name: 'hooks',
      language: 'node',
      modules: [{ name: 'a', path: '/nowhere/a.mjs' }],
      env: {},
      cwd: join(file, 'folder'),
      log: silentLog,
    })
    t.after(() => host.stop())
    assert.equal(expectFailure(await host.call({ module: 'a', args: [] })).kind, 'unavailable')
  })

  it('because its environment is too large reports it', async (t) => {
    const { host } = createTestHost(t, { files: { 'a.mjs': '' }, env: () => ({ BIG: 'x'.repeat(4_000_000) }) })
    const failure = expectFailure(await host.load('a'))
    assert.equal(failure.kind, 'unavailable')
    assert.match(failure.error.message, /E2BIG/)
  })

  it('because the program is not an interpreter reports its exit code', async (t) => {
    const { host } = starting(t, 'false')
    const failure = expectFailure(await host.load('a'))
    assert.equal(failure.kind, 'unavailable')
    assert.match(failure.error.detail, /\b1\b/)
  })

  it('because the program does not respond is killed', async (t) => {
    const { host } = startingScript(t, 'exec sleep 1000')
    const failure = expectFailure(await host.load('a'))
    assert.equal(failure.kind, 'unavailable')
    assert.match(failure.error.message, /100 ms/)
  })

  it('because its Python is too old reports the required version', async (t) => {
    const refused = { t: 'startupError', reason: 'it is Python 3.8.18, handlers need 3.9 or newer' }
    const { host } = startingScript(t, `echo '${JSON.stringify(refused)}' >&4; exit 1`)
    assert.match(expectFailure(await host.load('a')).error.message, /hooks: it is Python 3\.8\.18, handlers need 3\.9/)
  })
})
