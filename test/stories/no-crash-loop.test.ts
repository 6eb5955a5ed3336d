import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { compileCacheDirectory } from '../kit/compile-cache.ts'
import { gatewayBundle } from '../kit/gateway-bundle.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { rowsIn } from './support.ts'

test('a message that crashes the process three times, the third time after a pause, becomes a dead letter', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  // Not awaited: the process may be killed before the acknowledgement.
  void gateway.platform.say('poison')
  for (const start of [1, 2]) assert.equal(await startCrashingGateway(t, gateway).exited, 'SIGKILL', `start ${start}`)

  const waiting = startCrashingGateway(t, gateway)
  const pause = await gateway.waitForReply('/stop')
  assert.equal(pause.kind, 'notice')
  waiting.stop()
  assert.equal(await waiting.exited, 0)
  endPause(gateway)
  assert.equal(await startCrashingGateway(t, gateway).exited, 'SIGKILL', 'the third attempt')

  const survivor = startCrashingGateway(t, gateway)
  const notice = await gateway.waitForReply('hermes inbox list')
  assert.equal(notice.kind, 'notice')
  const [event] = rowsIn(gateway.home, 'select state, tries, reason from inbox')
  assert.deepEqual([event?.['state'], event?.['tries']], ['dead', 3])
  assert.notEqual(event?.['reason'], '')
  survivor.stop()
  assert.equal(await survivor.exited, 0)

  await gateway.start()
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
})

/** The third attempt begins after five minutes. */
function endPause({ home }: TestGateway): void {
  const db = new DatabaseSync(home.databaseFile)
  db.exec('update inbox set available_at = 0')
  db.close()
}

/** Starts a gateway that is killed as soon as a model responds. */
function startCrashingGateway(t: TestContext, { home }: TestGateway) {
  const program = fileURLToPath(new URL('../crash/child.mjs', import.meta.url))
  const settings = JSON.stringify({
    home: home.root,
    bundle: gatewayBundle('gateway'),
    killAt: 'agent:streaming',
    killHit: 1,
  })
  const child = spawn(process.execPath, [program, settings], {
    stdio: 'ignore',
    // A process that does not crash fails the test.
    timeout: 10_000,
    killSignal: 'SIGABRT',
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: compileCacheDirectory(),
    },
  })
  t.after(() => child.kill('SIGKILL'))
  return {
    exited: new Promise<number | string | null>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? code))
    }),
    stop: () => void child.kill('SIGTERM'),
  }
}
