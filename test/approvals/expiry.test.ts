import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brand } from '../../src/lib/ids.ts'
import { recordingLog } from '../http/support.ts'
import { command, room } from './support.ts'

/** A clock whose pauses end when the test says so. */
function pauses() {
  const asked: { ms: number; end: () => void }[] = []
  let tell: (() => void) | undefined
  return {
    pause(ms: number, signal: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        asked.push({ ms, end: resolve })
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve(), { once: true })
        tell?.()
      })
    },
    /** Resolves with the pause of this number, once it is asked for. */
    async asked(number: number) {
      while (asked.length <= number) {
        const { promise, resolve } = Promise.withResolvers<void>()
        tell = resolve
        await promise
      }
      const found = asked[number]
      assert.ok(found)
      return found
    },
  }
}

test('a question ends when its time is over, and its buttons go', async (t) => {
  const time = pauses()
  const stop = new AbortController()
  const { ask, clock, questions, sent, platformIds, states } = room(t, { sleep: time.pause })
  const running = questions.run(stop.signal)
  assert.equal((await time.asked(0)).ms, 600_000, 'nothing waits')
  await ask()
  platformIds.set('question:q1', 'm1')
  const nap = await time.asked(1)
  assert.equal(nap.ms, 300_000, 'a new question is seen at once')
  clock.advance(300_000)
  nap.end()
  await time.asked(2)
  assert.equal(states()[0]?.['state'], 'expired')
  assert.equal(sent.at(-1)?.text, 'Go on?\n\n*No answer in time. Nothing was done.*')
  assert.equal(sent.at(-1)?.draft?.platformId, 'm1')
  stop.abort()
  await running
})

test('what expired while the daemon was down ends at the start, with what follows from it', async (t) => {
  const time = pauses()
  const stop = new AbortController()
  const { ask, clock, questions, handedIn, woken, sent, states } = room(t, { sleep: time.pause })
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
  assert.deepEqual([handedIn.length, woken.length, sent.length - asked], [45, 45, 45])
  assert.equal(sent.at(-1)?.draft, undefined, 'a message that was never sent cannot be edited: people are told')
  assert.equal(sent.at(-1)?.text, '*No answer in time. Refused.*')
  stop.abort()
  await running
})

test('the clock of what a tool waits for stands still while there is no process', async (t) => {
  const time = pauses()
  const { ask, clock, questions, states } = room(t, { sleep: time.pause })
  await ask({ kind: 'approval', timeoutMs: 300_000 })
  const first = new AbortController()
  const life = questions.run(first.signal)
  assert.equal((await time.asked(0)).ms, 10_000, 'it is noted again and again that somebody could answer')
  clock.advance(100_000)
  first.abort()
  await life
  clock.advance(3_600_000)
  // This life is killed: what has passed since it was last noted counts for nobody.
  void questions.run(new AbortController().signal)
  await time.asked(1)
  clock.advance(4_000)
  clock.advance(3_600_000)
  const last = new AbortController()
  const running = questions.run(last.signal)
  const nap = await time.asked(2)
  assert.deepEqual([nap.ms, states()[0]?.['state']], [10_000, 'waiting'])
  clock.advance(199_999)
  nap.end()
  const rest = await time.asked(3)
  assert.deepEqual([rest.ms, states()[0]?.['state']], [1, 'waiting'])
  clock.advance(1)
  rest.end()
  await time.asked(4)
  assert.equal(states()[0]?.['state'], 'expired')
  last.abort()
  await running
})

test('a database that fails is told, and the clock goes on', async (t) => {
  const time = pauses()
  const stop = new AbortController()
  const { log, lines } = recordingLog()
  const { store, questions } = room(t, { sleep: time.pause, log })
  await store.close()
  const running = questions.run(stop.signal)
  const nap = await time.asked(0)
  assert.equal(nap.ms, 30_000)
  assert.equal(lines.at(-1)?.fields['event'], 'approval.expiry_failed')
  nap.end()
  await time.asked(1)
  stop.abort()
  await running
})
