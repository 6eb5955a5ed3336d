/**
 * The budget of a minute in which no person writes, counted and not timed. A test that fails names the timers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { followTimers } from './timer-minute.ts'
import { countWork } from './work.ts'

/** The configuration is looked at each second, and the file of jobs each minute. Two a second are the limit of the design. */
const maxWakeUps = 61

test('an idle minute has no transaction, and hardly more than a timer fires in a second', async (t) => {
  const timers = followTimers()
  t.after(timers.stop)
  const gateway = await startTestGateway(t)
  await gateway.say('hello')
  await gateway.waitForReply('hello')
  await gateway.waitForLog({ event: 'outbox.delivered' })
  const early = await timers.passMinute()
  assert.ok(early.length > 0, 'old rows are removed soon after the start')
  const work = countWork()
  const wakeUps = await timers.passMinute()
  const { writes, reads } = work.stop()
  assert.deepEqual([...writes, ...reads], [])
  const counts = Object.entries(Object.groupBy(wakeUps, (timer) => timer))
  const added = counts.map(([timer, { length } = []]) => `${length} of ${timer}`)
  assert.ok(wakeUps.length <= maxWakeUps, added.join('\n'))
})
