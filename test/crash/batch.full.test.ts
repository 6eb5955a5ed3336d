/**
 * Kills `hermes batch run` while a gateway runs, that gateway, and interrupts the command. More: `batch.test.ts`.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { startDaemon } from '../stories/daemon.ts'
import { batchHome, kill, prompts, readIds } from './batch-home.ts'

test('a batch that is killed while a gateway runs asks the model nothing twice', async (t) => {
  const batch = await batchHome(t)
  const daemon = startDaemon(t, batch.home.root)
  await daemon.ready
  const first = batch.start()
  await batch.untilHeld()
  await kill(first)
  const second = batch.start()
  batch.release()
  assert.equal(await second.exit(), 0, second.errors())
  assert.deepEqual(readIds(batch.out), prompts)
  assert.deepEqual(readIds(batch.trajectories), prompts)
  assert.deepEqual(batch.calls(), [1, 1, 1, 1, 1, 1])
  await kill(daemon)
})

test('a batch goes on after its gateway was killed and started again', async (t) => {
  const port = await findFreePort()
  const batch = await batchHome(t, `http: {port: ${port}}\n`)
  const daemon = startDaemon(t, batch.home.root)
  await daemon.ready
  const running = batch.start()
  await batch.untilHeld()
  await kill(daemon)
  batch.release()
  await startDaemon(t, batch.home.root).ready
  assert.equal(await running.exit(), 0, running.errors())
  assert.deepEqual(readIds(batch.out), prompts)
  assert.deepEqual(readIds(batch.trajectories), prompts)
  assert.deepEqual(batch.calls(), [1, 1, 2, 2, 1, 1])
})

test('Ctrl-C waits for the prompts that were sent, and the same command answers the others', async (t) => {
  const batch = await batchHome(t)
  const first = batch.start()
  await batch.untilHeld()
  first.signal('SIGINT')
  await first.waitForLog('Ctrl-C again')
  batch.release()
  assert.equal(await first.exit(), 130)
  assert.deepEqual(readIds(batch.out), ['alpha', 'bravo', 'charlie', 'delta'])
  assert.equal(await batch.start().exit(), 0)
  assert.deepEqual(readIds(batch.out), prompts)
  assert.deepEqual(batch.calls(), [1, 1, 1, 1, 1, 1])
})

/** Below the range from which the system takes ports of connections, so that none takes it between two gateways. */
async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
