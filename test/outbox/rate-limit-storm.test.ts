/**
 * A platform that limits the rate again and again, per chat and per account, for every kind of call.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { SendResult } from '../../src/message/outbound.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import {
  createFakeSender,
  createManualTime,
  flushEventLoop,
  limited,
  type ManualTime,
  type OutboxFixture,
  openOutbox,
} from './support.ts'

type Outcome = { readonly limit: 'none' } | { readonly limit: 'chat' | 'account'; readonly ms: number }

/** Records calls that come too early or too late, and concurrent calls of one chat. */
function createStrictPlatform(outcomes: readonly Outcome[], time: ManualTime) {
  const violations: string[] = []
  const arrived: string[] = []
  const until = new Map<string, number>()
  const busy = new Set<string>()
  /** Chats with a limited reply, which is first in the queue when the limit ends. */
  const owed = new Set<string>()
  let calls = 0

  async function answer(chat: string, text: string, final: boolean): Promise<SendResult> {
    const now = time.clock()
    const free = Math.max(until.get(chat) ?? 0, until.get('account') ?? 0)
    if (now < free) violations.push(`${text} came ${free - now} ms too early`)
    if (owed.delete(chat) && now > free + 100) violations.push(`${text} came ${now - free} ms late`)
    if (busy.has(chat)) violations.push(`${text} came beside another call`)
    busy.add(chat)
    const outcome = outcomes[calls++] ?? { limit: 'none' }
    await new Promise((resolve) => setImmediate(resolve))
    busy.delete(chat)
    if (outcome.limit === 'none') {
      if (final) arrived.push(text)
      return { success: true, messageId: `m${calls}` }
    }
    const scope = outcome.limit === 'chat' ? chat : 'account'
    until.set(scope, Math.max(until.get(scope) ?? 0, time.clock() + outcome.ms))
    if (final) owed.add(chat)
    return limited(outcome.ms, outcome.limit)
  }

  const sender = createFakeSender({}, time.clock)
  sender.send = (message) => answer(message.target.chatId, message.text, message.kind === 'reply')
  sender.edit = (_, message, final) => answer(message.target.chatId, message.text, final)
  sender.typing = (target) => answer(target.chatId, 'typing', false)
  return { sender, violations, arrived, own: (chat: string) => answer(chat, 'reaction', false) }
}

/** Runs everything that can run now. */
async function waitUntilIdle(outbox: Outbox): Promise<void> {
  await outbox.whenIdle()
  await flushEventLoop()
  await outbox.whenIdle()
}

/** Advances the clock, so that every timer fires at its own time. */
async function advanceTime({ time, outbox }: OutboxFixture, ms: number): Promise<void> {
  for (let left = ms; left > 0; ) {
    const [next = left] = time.pendingSleeps()
    const stride = Math.min(left, next)
    time.advance(stride)
    left -= stride
    await waitUntilIdle(outbox)
  }
}

const chat = fc.constantFrom('a', 'b', 'c')
type Step =
  | { readonly kind: 'say' | 'draft' | 'typing' | 'own'; readonly chat: string }
  | { readonly kind: 'wait'; readonly ms: number }

const targetOf = (chatId: string) => ({ platform: 'fake', account: 'default', chatId })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('say' as const), chat }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('draft' as const, 'typing' as const, 'own' as const), chat }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 3_000 }) }) },
)
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant({ limit: 'none' as const }),
  fc.record({ limit: fc.constantFrom('chat' as const, 'account' as const), ms: fc.integer({ min: 50, max: 5_000 }) }),
)

test('many limits during sends, edits, typing and adapter calls lose no reply and cause no early call', async (t) => {
  const scenario = fc.record({
    steps: fc.array(step, { minLength: 5, maxLength: 30, size: 'max' }),
    outcomes: fc.array(outcome, { maxLength: 60, size: 'max' }),
  })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ steps, outcomes }) => {
      const time = createManualTime()
      const platform = createStrictPlatform(outcomes, time)
      // A rate limit must not count as an attempt.
      const bench = openOutbox(t, { time, sender: platform.sender, settings: { outbox: { max_tries: 1 } } })
      const { outbox } = bench
      const turn = new AbortController()
      const own: Promise<unknown>[] = []
      const sent: string[] = []
      const acts: Record<Exclude<Step['kind'], 'wait'>, (chatId: string, index: number) => unknown> = {
        say(chatId, index) {
          sent.push(`${chatId} ${index}`)
          return bench.say(`${chatId} ${index}`, { chatId })
        },
        draft: (chatId, index) =>
          outbox
            .openDraft({ target: targetOf(chatId), turnId: `turn-${index}` })
            ?.update(`A draft that is long ${index}`),
        typing: (chatId) => outbox.showTyping(targetOf(chatId), turn.signal),
        own: (chatId) => own.push(outbox.rateLimited(targetOf(chatId), turn.signal, () => platform.own(chatId))),
      }
      for (const [index, next] of steps.entries()) {
        if (next.kind === 'wait') await advanceTime(bench, next.ms)
        else await acts[next.kind](next.chat, index)
        // Otherwise the next event happens while calls are running.
        if (index % 3 === 0) await waitUntilIdle(outbox)
      }
      await waitUntilIdle(outbox)
      for (let left = 500; left > 0 && platform.arrived.length < sent.length; left -= 1) await advanceTime(bench, 1_000)
      turn.abort()
      await Promise.allSettled(own)
      await outbox.stop(0)
      assert.deepEqual(platform.violations, [])
      for (const name of ['a', 'b', 'c']) {
        const of = (texts: readonly string[]) => texts.filter((text) => text.startsWith(name))
        assert.deepEqual(of(platform.arrived), of(sent))
      }
      assert.ok((await bench.states()).every((state) => state === 'sent'))
    }),
    { numRuns: 30, seed: 20_261_121 },
  )
})
