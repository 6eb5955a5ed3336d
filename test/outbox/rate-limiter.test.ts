import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SendResult } from '../../src/message/outbound.ts'
import { type CallPriority, createRateLimiter, type Permit } from '../../src/outbox/rate-limiter.ts'
import { createDeferred, createManualTime, flushEventLoop, limited, type OutboxFixture, openOutbox } from './support.ts'

const sentence = 'A sentence that is long enough to be shown.'
const targetOf = (chatId: string) => ({ platform: 'fake', account: 'default', chatId })
const chat = targetOf('chat')
const forever = () => new AbortController().signal
const fine: SendResult = { success: true }

function openDraft({ outbox }: OutboxFixture, chatId: string, turnId = 'turn') {
  const draft = outbox.openDraft({ target: targetOf(chatId), turnId })
  assert.ok(draft !== null)
  return draft
}

/** A call of the adapter itself that records its time. */
function ownCall({ outbox, time }: OutboxFixture, calls: string[], chatId: string, answer: SendResult = fine) {
  return outbox.rateLimited(targetOf(chatId), forever(), async () => {
    calls.push(`own ${time.clock()}`)
    return answer
  })
}

test('a platform that requests a delay of two seconds is not called before it ends, and is called right after', async (t) => {
  const bench = openOutbox(t, { typing: true })
  const { outbox, sender, time, say } = bench
  const own: string[] = []
  sender.script.push(limited(2_000))
  await say('the answer')
  await outbox.whenIdle()
  const asked = time.clock()
  outbox.showTyping(chat, forever())
  openDraft(bench, 'chat').update(sentence)
  const reaction = ownCall(bench, own, 'chat')
  for (let step = 0; step < 20; step += 1) {
    time.advance(100)
    await flushEventLoop()
  }
  assert.equal(time.clock(), asked + 2_000)
  assert.deepEqual([sender.calls.length, own.length], [1, 0])
  time.advance(1)
  await flushEventLoop()
  await reaction
  assert.deepEqual(
    sender.calls.slice(1).map(({ op, text, at }) => [op, text, at - asked]),
    [
      ['send', 'the answer', 2_001],
      ['send', `${sentence} ▉`, 2_001],
    ],
  )
  assert.deepEqual(own, [`own ${asked + 2_001}`])
})

test('after a limit replies go first, then drafts, then the calls of adapters', async (t) => {
  const bench = openOutbox(t)
  const { outbox, sender, time, say } = bench
  const own: string[] = []
  await ownCall(bench, own, 'chat', limited(1_000))
  const reaction = ownCall(bench, own, 'chat')
  const draft = openDraft(bench, 'chat')
  draft.update(sentence)
  await flushEventLoop()
  await say('one')
  await say('two')
  await outbox.whenIdle()
  const answers = [createDeferred<SendResult>(), createDeferred<SendResult>(), createDeferred<SendResult>()]
  sender.script.push(...answers.map(({ promise }) => promise))
  time.advance(1_001)
  for (const [index, answer] of answers.entries()) {
    await flushEventLoop()
    assert.equal(sender.calls.length, index + 1, 'one call at a time')
    answer.resolve({ success: true, messageId: `m${index}` })
  }
  await reaction
  assert.deepEqual(sender.texts(), ['one', 'two', `${sentence} ▉`])
  assert.equal(own.length, 2)
})

test('a chat has one running call: a reply waits for the draft of another turn, typing is skipped', async (t) => {
  const bench = openOutbox(t, { typing: true })
  const { outbox, sender, say, states } = bench
  const slow = createDeferred<SendResult>()
  sender.script.push(slow.promise)
  openDraft(bench, 'chat').update(sentence)
  await sender.reached(1)
  outbox.showTyping(chat, forever())
  await say('the answer')
  await outbox.whenIdle()
  assert.equal(sender.calls.length, 1)
  assert.deepEqual(await states(), ['queued'], 'it is not marked as being sent while it waits')
  await say('elsewhere', { chatId: 'other' })
  await sender.reached(2)
  slow.resolve({ success: true, messageId: 'm9' })
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), [`${sentence} ▉`, 'elsewhere', 'the answer'])
})

test('a rate limit of a typing call also delays the reply', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t, { typing: true })
  sender.script.push(limited(3_000))
  outbox.showTyping(chat, forever())
  await flushEventLoop()
  time.advance(250)
  await flushEventLoop()
  await say('the answer')
  await outbox.whenIdle()
  time.advance(3_000)
  await flushEventLoop()
  assert.deepEqual(sender.texts(), [])
  time.advance(1)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['the answer'])
})

test('of a waiting draft only the newest text is shown', async (t) => {
  const bench = openOutbox(t)
  const { sender, time } = bench
  await ownCall(bench, [], 'chat', limited(4_000))
  const draft = openDraft(bench, 'chat')
  for (let words = 1; words <= 9; words += 1) {
    draft.update(`${sentence} ${'word '.repeat(words)}`)
    await flushEventLoop()
  }
  time.advance(4_001)
  await flushEventLoop()
  assert.deepEqual(sender.texts(), [`${sentence} ${'word '.repeat(9).trim()} ▉`])
})

test('a draft that hit a limit is updated half as often, so that the reply hits none', async (t) => {
  const bench = openOutbox(t)
  const { sender, time } = bench
  const draft = openDraft(bench, 'chat')
  draft.update(sentence)
  await flushEventLoop()
  sender.script.push(limited(1_000))
  draft.update(`${sentence} a`)
  time.advance(800)
  await flushEventLoop()
  time.advance(1_001)
  await flushEventLoop()
  draft.update(`${sentence} b`)
  await flushEventLoop()
  assert.deepEqual(time.pendingSleeps(), [1_600])
})

test('after a limit of the whole account one call is allowed first, then twice as many, until all are allowed', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(limited(1_000, 'account'))
  await say('first', { chatId: 'first' })
  await outbox.whenIdle()
  for (let number = 0; number < 200; number += 1) await say(`${number}`, { chatId: `chat-${number}` })
  await outbox.whenIdle()
  assert.equal(sender.calls.length, 1)
  const answers = Array.from({ length: 201 }, () => createDeferred<SendResult>())
  sender.script.push(...answers.map(({ promise }) => promise))
  time.advance(1_001)
  await flushEventLoop()
  const inFlight: number[] = []
  for (const [ended, answer] of answers.entries()) {
    inFlight.push(sender.calls.length - 1 - ended)
    answer.resolve(fine)
    await flushEventLoop()
  }
  await outbox.whenIdle()
  assert.deepEqual(inFlight.slice(0, 8), [1, 2, 4, 8, 16, 32, 195, 194])
  assert.equal(new Set(sender.texts()).size, 201)
})

test('a limit of one account does not affect other accounts', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  sender.script.push(limited(60_000, 'account'))
  await say('one')
  await outbox.whenIdle()
  await say('two', { chatId: 'other' })
  await say('three', { target: { platform: 'fake', account: 'second', chatId: 'chat' } })
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'three'])
})

test('an implausible limit is replaced with a plausible one', async (t) => {
  for (const [retryAfterMs, waits] of [
    [Number.NaN, 5_001],
    [Number.POSITIVE_INFINITY, 5_001],
    [-1, 51],
    [0, 51],
    [1e300, 30 * 86_400_000 + 1],
  ] as const) {
    const { outbox, sender, time, say, rows } = openOutbox(t)
    sender.script.push(limited(retryAfterMs))
    await say('one')
    await outbox.whenIdle()
    assert.deepEqual(
      (await rows()).map(({ state, due_at }) => [state, due_at - time.clock()]),
      [['queued', waits]],
    )
    time.advance(waits)
    await outbox.whenIdle()
    assert.equal(sender.calls.length, 2)
  }
})

test('the removal of a draft waits for the end of a limit', async (t) => {
  const bench = openOutbox(t, { remove: true })
  const { outbox, sender, time, say } = bench
  const draft = openDraft(bench, 'chat')
  draft.update(sentence)
  await flushEventLoop()
  const address = await draft.close()
  assert.ok(address !== null)
  await ownCall(bench, [], 'chat', limited(5_000))
  await say('', { turnId: 'turn', draft: address })
  await outbox.whenIdle()
  assert.deepEqual([...sender.shown.keys()], ['m1'])
  time.advance(5_001)
  await flushEventLoop()
  assert.deepEqual([...sender.shown.keys()], [])
})

test('a call of an adapter is not repeated, and its limit is recorded', async (t) => {
  const bench = openOutbox(t)
  const own: string[] = []
  assert.deepEqual(await ownCall(bench, own, 'chat', limited(2_000)), limited(2_000))
  assert.equal(own.length, 1)
  await bench.say('later')
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.texts(), [])
  assert.deepEqual(bench.time.pendingSleeps(), [2_001])
})

test('an aborted call of an adapter leaves the queue and cancels its timer', async (t) => {
  const bench = openOutbox(t)
  const { outbox, time } = bench
  await ownCall(bench, [], 'chat', limited(2_000))
  const controller = new AbortController()
  const waiting = outbox.rateLimited(chat, controller.signal, async () => assert.fail('called all the same'))
  const refused = assert.rejects(waiting, /no longer needed/)
  assert.deepEqual(time.pendingSleeps(), [2_001])
  controller.abort(new Error('no longer needed'))
  await refused
  assert.deepEqual(time.pendingSleeps(), [])
  await assert.rejects(
    outbox.rateLimited(chat, controller.signal, async () => fine),
    /no longer needed/,
  )
})

test('a stop rejects the calls that wait for a permit', async (t) => {
  const bench = openOutbox(t)
  await ownCall(bench, [], 'chat', limited(2_000))
  const waiting = ownCall(bench, [], 'chat')
  const refused = assert.rejects(waiting)
  await bench.outbox.stop(0)
  await refused
  assert.deepEqual(bench.time.pendingSleeps(), [])
  await assert.rejects(ownCall(bench, [], 'other'))
})

test('a call of an adapter that throws releases the chat', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  const failing = outbox.rateLimited(chat, forever(), async () => {
    throw new Error('no such message')
  })
  await assert.rejects(failing, /no such message/)
  await say('hello')
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello'])
})

test('without a limit a permit costs no timer and no promise', () => {
  const time = createManualTime()
  const budget = createRateLimiter(time)
  const slot = budget.tryAcquire(chat, 'final')
  assert.ok(slot !== undefined)
  slot.record(fine, time.clock())
  assert.equal(slot.mayContinue(), true)
  slot.release()
  assert.deepEqual(time.pendingSleeps(), [])
  assert.equal(budget.isAvailable(chat), true)
})

test('the timer of a distant limit is split into shorter sleeps', async () => {
  const time = createManualTime()
  const budget = createRateLimiter(time)
  const slot = budget.tryAcquire(chat, 'final')
  slot?.record(limited(30 * 86_400_000), time.clock())
  slot?.release()
  let granted: Permit | undefined
  void budget.acquire(chat, 'final', forever()).then((given) => {
    granted = given
  })
  for (let hour = 0; hour < 720; hour += 1) {
    assert.deepEqual(time.pendingSleeps(), [3_600_000])
    time.advance(3_600_000)
    await Promise.resolve()
    await Promise.resolve()
  }
  assert.equal(granted, undefined)
  time.advance(1)
  await flushEventLoop()
  assert.ok(granted !== undefined)
})

test('a call that still waits after the end of the limit goes before a new one', async () => {
  let now = 0
  // The timer is late: the clock is past the end, but no waiting call has been resumed yet.
  const budget = createRateLimiter({ clock: () => now, sleep: () => new Promise(() => undefined) })
  const first = budget.tryAcquire(chat, 'own')
  first?.record(limited(1_000), now)
  first?.release()
  const order: CallPriority[] = []
  for (const rank of ['own', 'draft'] as const) {
    void budget.acquire(chat, rank, forever()).then((slot) => {
      order.push(rank)
      slot?.release()
    })
  }
  now = 2_000
  assert.equal(budget.tryAcquire(chat, 'draft'), undefined)
  await flushEventLoop()
  assert.deepEqual(order, ['draft', 'own'])
  assert.ok(budget.tryAcquire(chat, 'typing') !== undefined)
})
