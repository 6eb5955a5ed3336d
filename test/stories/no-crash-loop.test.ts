import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createCrashGateway } from '../crash/gateway.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { rowsIn } from './support.ts'

/** It is killed as soon as a model responds. */
const point = 'agent:streaming'

test('a message that crashes the process three times, the third time after a pause, becomes a dead letter', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  const crashing = createCrashGateway(gateway.home.root)
  t.after(crashing.dispose)
  // It is not awaited: the process may be killed before the acknowledgement.
  void gateway.platform.say('poison')
  for (let start = 1; start <= 2; start++) {
    crashing.start(point)
    await crashing.killed()
  }

  crashing.start(point)
  const pause = await gateway.waitForReply('/stop')
  assert.equal(pause.kind, 'notice')
  await crashing.stop()
  endPause(gateway)
  // The third attempt.
  crashing.start(point)
  await crashing.killed()

  crashing.start(point)
  const notice = await gateway.waitForReply('hermes inbox list')
  assert.equal(notice.kind, 'notice')
  const [event] = rowsIn(gateway.home, 'select state, tries, reason from inbox')
  assert.deepEqual([event?.['state'], event?.['tries']], ['dead', 3])
  assert.notEqual(event?.['reason'], '')
  await crashing.stop()

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
