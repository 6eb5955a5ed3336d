/**
 * A service manager that runs `npm start` signals npm, not the daemon.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readPidFile } from '../../src/cli/kit/daemon.ts'
import { findProgram } from '../../src/lib/find-program.ts'
import { homeWith } from './support.ts'

const skip = findProgram('npm', process.env['PATH'] ?? '') === undefined ? 'npm is not on the PATH' : false

test('SIGTERM to npm start stops the daemon', { skip }, async (t) => {
  const home = homeWith(t)
  const npm = spawn('npm', ['start'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { PATH: process.env['PATH'], HOME: home.root, HERMES_HOME: home.root },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise((resolve) => npm.once('close', resolve))
  t.after(() => {
    npm.kill('SIGKILL')
    const pid = readPidFile(home)?.pid
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  })
  let log = ''
  npm.stdout.resume()
  for await (const chunk of npm.stderr.setEncoding('utf8')) {
    log += chunk
    // The pipe stays open as long as the daemon runs.
    if (log.includes('"event":"gateway.ready"') && !npm.killed) npm.kill('SIGTERM')
  }
  await exited
  assert.ok(log.includes('"event":"gateway.stopped"'), log)
  assert.equal(existsSync(home.pidFile), false)
})
