/**
 * Programs of the configuration that write without end, keep their pipes open or cannot be started do no harm.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { runProgram } from '../../src/hooks/run-program.ts'
import { path, waitForExit } from '../hosts/support.ts'
import { tempHome } from '../kit/temp-home.ts'

const node = process.execPath

function run(cwd: string, code: string, timeoutMs = 20_000) {
  return runProgram({ argv: [node, '-e', code], input: 'x'.repeat(1_000_000), env: { PATH: path }, cwd, timeoutMs })
}

test('a program that writes without end is killed long before its time limit', async (t) => {
  const home = tempHome(t)
  for (const stream of [1, 2]) {
    const ended = await run(home, `for (;;) require('fs').writeSync(${stream}, 'x'.repeat(65536))`)
    assert.match(ended.failure, /16777216 bytes/)
    assert.ok(ended.stdout.length <= 1_048_576 && ended.stderr.length <= 1_048_576)
  }
})

test('the pipes of a program are closed when it ends, even if a child process holds them', async (t) => {
  const left = `
    const { spawn } = require('node:child_process')
    const flood = "process.stdout.on('error', () => process.exit()); setInterval(() => process.stdout.write('flood'), 1)"
    const child = spawn(process.execPath, ['-e', flood], { detached: true, stdio: ['ignore', 'inherit', 'ignore'] })
    require('node:fs').writeSync(1, child.pid + '\\n')
    process.exit()`
  const ended = await run(tempHome(t), left)
  assert.deepEqual([ended.code, ended.failure], [0, ''])
  await waitForExit(Number.parseInt(ended.stdout, 10))
})

test('a program that hangs is killed at its time limit, with the child process that holds its pipes', async (t) => {
  const holds = `
    const child = require('node:child_process').spawn('sleep', ['1000'], { stdio: ['ignore', 'inherit', 'inherit'] })
    require('node:fs').writeSync(1, child.pid + '\\n')
    setInterval(() => undefined, 1000)`
  const ended = await run(tempHome(t), holds, 1_500)
  assert.match(ended.failure, /1500 ms/)
  await waitForExit(Number.parseInt(ended.stdout, 10))
})

test('a command that the system cannot start has failed', async (t) => {
  const cwd = tempHome(t)
  const nothing = { input: '', env: {}, cwd, timeoutMs: 1_000 }
  assert.match((await runProgram({ ...nothing, argv: ['a\0b'] })).failure, /null bytes/)
  assert.match((await runProgram({ ...nothing, argv: ['true', 'x'.repeat(4_000_000)] })).failure, /E2BIG/)
})

test('without file descriptors a program has failed, and the gateway goes on', (t) => {
  const script = `
    import { openSync } from 'node:fs'
    import { runProgram } from ${JSON.stringify(new URL('../../src/hooks/run-program.ts', import.meta.url).href)}
    try { for (;;) openSync('/dev/null') } catch {}
    const ended = await runProgram({ argv: ['true'], input: '', env: {}, cwd: '/', timeoutMs: 1_000 })
    console.log(ended.failure)`
  const limited = ['-c', 'ulimit -n 100; exec "$@"', 'sh', node, '--input-type=module', '-e', script]
  const { stdout, status, stderr } = spawnSync('/bin/sh', limited, { encoding: 'utf8', cwd: tempHome(t) })
  assert.deepEqual([status, stderr], [0, ''])
  assert.match(stdout, /EMFILE/)
})
