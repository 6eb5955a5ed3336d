import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { signalProcessGroup, terminateProcessGroup } from '../../src/lib/process-group.ts'

/** A shell that leads its own process group and has reported that it is ready. */
async function leader(
  t: TestContext,
  script: string,
): Promise<{ pid: number; shell: ChildProcess; ended: Promise<unknown> }> {
  const shell = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  const { pid, stdout } = shell
  assert.ok(pid !== undefined)
  // The event is not `exit`: child processes of the shell keep the pipe open.
  const ended = once(shell, 'close')
  t.after(() => shell.exitCode === null && shell.signalCode === null && signalProcessGroup(pid, 'SIGKILL'))
  await once(stdout, 'data')
  stdout.resume()
  return { pid, shell, ended }
}

test('all processes of a group are killed', async (t) => {
  const { pid, shell, ended } = await leader(t, 'sleep 600 & echo ready; wait')
  assert.equal(signalProcessGroup(pid, 0), true)
  assert.equal(signalProcessGroup(pid, 'SIGKILL'), true)
  await ended
  assert.equal(shell.signalCode, 'SIGKILL')
})

test('a signal to a group that has exited is not an error', async (t) => {
  const { pid, ended } = await leader(t, 'echo ready')
  await ended
  assert.deepEqual(
    [signalProcessGroup(pid, 0), signalProcessGroup(pid, 'SIGTERM'), signalProcessGroup(pid, 'SIGKILL')],
    [false, false, false],
  )
  await terminateProcessGroup(pid, 60_000)
})

test('a group can handle SIGTERM itself', async (t) => {
  const { pid, shell, ended } = await leader(t, 'trap "exit 7" TERM; echo ready; while :; do sleep 0.01; done')
  await terminateProcessGroup(pid, 60_000)
  await ended
  assert.equal(shell.exitCode, 7)
})

test('a group that ignores SIGTERM is killed after the grace period', async (t) => {
  const { pid, shell, ended } = await leader(t, 'trap "" TERM; echo ready; while :; do sleep 0.01; done')
  await terminateProcessGroup(pid, 0)
  await ended
  assert.equal(shell.signalCode, 'SIGKILL')
})
