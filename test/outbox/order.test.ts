import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { SendResult } from '../../src/message/outbound.ts'
import {
  createFakeSender,
  createManualTime,
  type FakeSender,
  type ManualTime,
  type OutboxFixture,
  openOutbox,
  rejected,
  temporary,
} from './support.ts'

/** The behaviour of the platform for a call: whether the message arrives, and which result the outbox gets. */
type Outcome = 'arrives' | 'limited' | 'fails' | 'refused' | 'lost' | 'lost-arrived' | 'throws-arrived'
const outcomes: readonly Outcome[] = [
  'arrives',
  'limited',
  'fails',
  'refused',
  'lost',
  'lost-arrived',
  'throws-arrived',
]

interface Arrival {
  readonly chat: string
  readonly text: string
}

/**
 * A platform on which messages may arrive although the outbox gets another result. Records calls that come too early.
 */
function createScriptedSender(plan: readonly Outcome[], time: ManualTime) {
  const arrivals: Arrival[] = []
  const early: string[] = []
  const notBefore = new Map<string, number>()
  const sender: FakeSender = createFakeSender({}, time.clock)
  let call = 0
  sender.send = async ({ target: { chatId: chat }, text }): Promise<SendResult> => {
    if (time.clock() < (notBefore.get(chat) ?? 0)) early.push(text)
    const outcome = plan[call++] ?? 'arrives'
    if (outcome === 'arrives' || outcome === 'lost-arrived' || outcome === 'throws-arrived')
      arrivals.push({ chat, text })
    switch (outcome) {
      case 'arrives':
        return { success: true, messageId: `m${call}` }
      case 'limited':
        notBefore.set(chat, time.clock() + 5_000)
        return { success: false, problem: 'rate-limited', error: 'slow down', retryAfterMs: 5_000 }
      case 'fails':
        return temporary
      case 'refused':
        return rejected
      case 'lost':
      case 'lost-arrived':
        return { success: false, problem: 'temporary', error: 'no answer', maybeSent: true }
      case 'throws-arrived':
        throw new Error('connection reset')
    }
  }
  /** A rate limit is not known after a restart if its response was lost with the process. */
  const forgetLimits = () => notBefore.clear()
  return { sender, arrivals, early, forgetLimits }
}

/** One process lifetime of the outbox, which ends normally or by a crash at failpoint number `crashPoint`. */
async function restartUntilDelivered(t: TestContext, first: OutboxFixture, crashPoint: number): Promise<void> {
  const { time, sender, path } = first
  const life = openOutbox(t, { time, sender, path })
  const died = Promise.withResolvers<'died'>()
  let left = crashPoint
  life.onFailpoint = () => {
    left -= 1
    if (left > 0) return
    life.crash()
    died.resolve('died')
  }
  await life.outbox.recover()
  for (;;) {
    if ((await Promise.race([life.outbox.whenIdle(), died.promise])) === 'died') break
    const [wait] = time.pendingSleeps()
    if (wait === undefined) break
    time.advance(wait)
  }
  await life.outbox.stop(0)
}

const bare = (text: string) => text.split('\n').at(-1) ?? ''

function assertOrder(texts: readonly string[]): void {
  const numbers = texts.map((text) => Number(bare(text)))
  assert.deepEqual(
    numbers,
    numbers.toSorted((one, two) => one - two),
  )
}

function assertLabels(texts: readonly string[]): void {
  const repeated = texts.filter((text, index) => texts.slice(0, index).some((other) => bare(other) === bare(text)))
  for (const text of repeated) assert.match(text, /^♻️ [^\n]+\n\n/)
}

test('for any behaviour of platform and process, each reply arrives in order, and twice only with a label', async (t) => {
  const scenario = fc.record({
    replies: fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 6, size: 'max' }),
    plan: fc.array(fc.constantFrom(...outcomes), { maxLength: 12, size: 'max' }),
    lives: fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 3, size: 'max' }),
  })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ replies, plan, lives }) => {
      const time = createManualTime()
      const { sender, arrivals, early, forgetLimits } = createScriptedSender(plan, time)
      const first = openOutbox(t, { time, sender })
      first.connected = false
      for (const [index, chatId] of replies.entries()) await first.say(String(index), { chatId, key: `key-${index}` })
      first.crash()
      for (const crashPoint of [...lives, Number.POSITIVE_INFINITY]) {
        forgetLimits()
        await restartUntilDelivered(t, first, crashPoint)
      }

      assert.deepEqual(early, [], 'nothing is sent before a rate limit is over')
      for (const chat of ['a', 'b']) {
        const texts = arrivals.filter((arrival) => arrival.chat === chat).map(({ text }) => text)
        assertOrder(texts)
        assertLabels(texts)
      }
      const arrived = new Set(arrivals.map(({ text }) => bare(text)))
      for (const { text, state } of await first.rows()) {
        assert.ok(state === 'dead' || (state === 'sent' && arrived.has(text)), `reply ${text} is ${state}`)
      }
    }),
    { numRuns: 60 },
  )
})
