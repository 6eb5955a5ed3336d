import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restartProcess } from '../../../src/cli/kit/restart-process.ts'

const started = {
  execPath: '/bin/node',
  execArgv: ['--expose-gc'],
  argv: ['/bin/node', '/app/main.mjs', 'gateway', 'run', '--strict'],
  env: { HERMES_HOME: '/home' },
}

test('a restart repeats the command line with the flags and the environment of the process', () => {
  const calls: unknown[] = []
  restartProcess({ ...started, execve: (...call) => void calls.push(call) })
  assert.deepEqual(calls, [
    [
      '/bin/node',
      ['/bin/node', '--expose-gc', '/app/main.mjs', 'gateway', 'run', '--strict'],
      { HERMES_HOME: '/home' },
    ],
  ])
})

test('where a process cannot be replaced, the exit code asks the service manager for a start', () => {
  assert.equal(restartProcess(started).exitCode, 75)
  const refused = restartProcess({ ...started, execve: () => assert.fail('no memory') })
  assert.deepEqual(refused, { exitCode: 75, reason: 'no memory' })
})
