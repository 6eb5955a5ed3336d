/**
 * Kills the gateway while scheduled jobs run, at every point that `cron.test.ts` leaves out and at any time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createCronHome } from './cron-home.ts'
import { testAnswers, testScripts } from './cron-pairs.ts'
import { createCrashGateway } from './gateway.ts'

testAnswers(['cron:due', 'cron:output'])
testAnswers(['cron:claimed', 'turn:finished'])
testScripts()

test('each second of a job leads to one message while the gateway is killed at any time, and no second one starts', {
  timeout: 120_000,
}, async (t) => {
  const { home, chat, gateway, addJob, rows, untilSent } = await createCronHome(t)
  const schedule = { kind: 'cron', expr: '* * * * * *', display: '' }
  addJob({ id: 'tick', schedule, repeat: { times: 6, completed: 0 } })
  for (const [kill, delayMs] of [40, 170, 390].entries()) {
    await gateway.restart()
    if (kill === 0) await assertRefused(home)
    const before = chat.messages.length
    // At no particular step: after the next message, and some time.
    await untilSent('the next message', (messages) => messages.length > before)
    await setTimeout(delayMs)
    await gateway.kill()
  }
  await gateway.restart()
  await gateway.untilTrue('the last run', () => {
    const [row] = rows("select record, slot from cron_jobs where id = 'tick'")
    return row?.['slot'] === null && JSON.parse(String(row['record'])).state === 'completed'
  })
  await gateway.stop()
  assert.equal(rows("select key from inbox_keys where key like 'cron:tick:%'").length, 6)
  assert.equal(rows("select distinct key from outbox where key like 'cron:tick:%'").length, 6)
})

/** The lock of the home belongs to the first gateway. */
async function assertRefused(home: string): Promise<void> {
  const second = createCrashGateway(home)
  second.start()
  assert.notEqual(await second.ended(), 0)
}
