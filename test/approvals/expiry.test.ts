import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brand } from '../../src/lib/ids.ts'
import { recordingLog } from '../http/support.ts'
import { command, openQuestions } from './support.ts'

/** A `sleep` function whose delays end when the test ends them. */
function manualSleep() {
  const asked: { ms: number; end: () => void }[] = []
  let notify: (() => void) | undefined
  return {
    sleep(ms: number, signal: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        asked.push({ ms, end: resolve })
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve(), { once: true })
        notify?.()
      })
    },
    /** Resolves with the delay of this index, once it was requested. */
    async asked(number: number) {
      while (asked.length <= number) {
        const { promise, resolve } = Promise.withResolvers<void>()
        notify = resolve
        await promise
      }
      const found = asked[number]
      assert.ok(found)
      return found
    },
  }
}

test('a question expires in time, and its buttons are removed', async (t) => {
  const time = manualSleep()
  const stop = new AbortController()
  const { ask, clock, questions, sent, show, states } = openQuestions(t, { sleep: time.sleep })
  const running = questions.run(stop.signal)
  assert.equal((await time.asked(0)).ms, 600_000, 'no question is open')
  await ask()
  show('question:q1', 'm1')
  const delay = await time.asked(1)
  assert.equal(delay.ms, 300_000, 'a new question reschedules the clock')
  clock.advance(300_000)
  delay.end()
  await time.asked(2)
  assert.equal(states()[0]?.['state'], 'expired')
  assert.equal(sent.at(-1)?.text, 'Go on?\n\n*No answer in time. Nothing was done.*')
  assert.equal(sent.at(-1)?.draft?.platformId, 'm1')
  stop.abort()
  await running
})

test('questions that expired while the daemon was down are expired at the start, with their effects', async (t) => {
  const time = manualSleep()
  const stop = new AbortController()
  const { ask, clock, questions, enqueued, woken, sent, states } = openQuestions(t, { sleep: time.sleep })
  for (let count = 0; count < 45; count += 1) {
    const says = { says: 'Refused.', event: { ...command, text: 'refused' } }
    await ask({ sessionKey: brand(`s${count}`), unanswered: says })
  }
  const asked = sent.length
  clock.advance(400_000)
  const running = questions.run(stop.signal)
  for (let number = 0; number < 3; number += 1) {
    const { ms, end } = await time.asked(number)
    assert.equal(ms, number < 2 ? 0 : 600_000)
    if (number < 2) end()
  }
  assert.ok(states().every(({ state }) => state === 'expired'))
  assert.deepEqual([enqueued().length, woken.length, sent.length - asked], [45, 45, 45])
  assert.equal(sent.at(-1)?.draft, undefined, 'a message that was never sent cannot be edited, so a new one is sent')
  assert.equal(sent.at(-1)?.text, '*No answer in time. Refused.*')
  stop.abort()
  await running
})

test('the clock of an approval is paused while no process runs', async (t) => {
  const time = manualSleep()
  const { ask, clock, questions, states } = openQuestions(t, { sleep: time.sleep })
  await ask({ kind: 'approval', timeoutMs: 300_000 })
  const first = new AbortController()
  const firstRun = questions.run(first.signal)
  assert.equal((await time.asked(0)).ms, 10_000, 'the clock is updated repeatedly while a tool waits')
  clock.advance(100_000)
  first.abort()
  await firstRun
  clock.advance(3_600_000)
  // This process is killed: the time since its last update does not count.
  void questions.run(new AbortController().signal)
  await time.asked(1)
  clock.advance(4_000)
  clock.advance(3_600_000)
  const last = new AbortController()
  const running = questions.run(last.signal)
  const delay = await time.asked(2)
  assert.deepEqual([delay.ms, states()[0]?.['state']], [10_000, 'waiting'])
  clock.advance(199_999)
  delay.end()
  const rest = await time.asked(3)
  assert.deepEqual([rest.ms, states()[0]?.['state']], [1, 'waiting'])
  clock.advance(1)
  rest.end()
  await time.asked(4)
  assert.equal(states()[0]?.['state'], 'expired')
  last.abort()
  await running
})

test('a failing database is logged, and the clock continues', async (t) => {
  const time = manualSleep()
  const stop = new AbortController()
  const { log, lines } = recordingLog()
  const { store, questions } = openQuestions(t, { sleep: time.sleep, log })
  await store.close()
  const running = questions.run(stop.signal)
  const delay = await time.asked(0)
  assert.equal(delay.ms, 30_000)
  assert.equal(lines.at(-1)?.fields['event'], 'approval.expiry_failed')
  delay.end()
  await time.asked(1)
  stop.abort()
  await running
})
