import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  createDeferred,
  flushEventLoop,
  limited,
  lost,
  type OutboxFixture,
  openOutbox,
  rejected,
  temporary,
  unauthorised,
} from './support.ts'

const target = { platform: 'fake', account: 'default', chatId: 'chat' }
const turnId = 'turn-1'
const sentence = 'A sentence that is long enough to be shown.'

function openDraft({ outbox }: OutboxFixture, options: { replyTo?: string; resumed?: boolean } = {}) {
  const draft = outbox.openDraft({ target, turnId, ...options })
  assert.ok(draft !== null)
  return draft
}

test('a reply is shown while it is written, with a cursor and at a limited rate', async (t) => {
  const bench = openOutbox(t)
  const { sender, time } = bench
  const draft = openDraft(bench, { replyTo: 'question' })
  draft.update(sentence)
  await flushEventLoop()
  for (const more of [' a', ' ab', ' abc']) draft.update(`${sentence}${more}`)
  await flushEventLoop()
  assert.deepEqual(time.pendingSleeps(), [800])
  time.advance(800)
  await flushEventLoop()
  assert.deepEqual(
    sender.calls.map(({ op, text, kind, replyTo, final }) => [op, text, kind, replyTo, final]),
    [
      ['send', `${sentence} ▉`, 'draft', 'question', false],
      ['edit', `${sentence} abc ▉`, 'draft', 'question', false],
    ],
  )
  assert.deepEqual(time.pendingSleeps(), [])
  const { platformId, shownText } = (await draft.close()) ?? {}
  assert.deepEqual([platformId, shownText], ['m1', `${sentence} abc ▉`])
})

test('an adapter can set the interval between edits of a draft', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 3_000 })
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  draft.update(`${sentence} more`)
  assert.deepEqual(bench.time.pendingSleeps(), [3_000])
  await draft.close()
  assert.deepEqual(bench.time.pendingSleeps(), [])
})

test('adapters that draw the cursor themselves get the text without it', async (t) => {
  const bench = openOutbox(t, { drawsCursor: true })
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  assert.deepEqual(bench.sender.texts(), [sentence])
})

test('a text that may still be replaced is shown only where a shown text can be replaced', (t) => {
  assert.equal(openDraft(openOutbox(t)).showsProvisionalText, true)
  assert.equal(openDraft(openOutbox(t, { appendsDrafts: true })).showsProvisionalText, false)
})

test('a chat without a reader has no draft', async (t) => {
  let isWatched = false
  const bench = openOutbox(t, { showsDrafts: () => isWatched })
  assert.equal(bench.outbox.openDraft({ target, turnId }), null)
  isWatched = true
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  assert.equal(bench.sender.texts().length, 1)
})

test('a slow platform does not delay the model: only the newest text is shown', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 0 })
  const { sender } = bench
  const answer = createDeferred<{ success: true }>()
  sender.script.push(answer.promise)
  const draft = openDraft(bench)
  for (let length = 1; length <= 500; length += 1) draft.update(`${sentence} ${'x'.repeat(length)}`)
  await flushEventLoop()
  answer.resolve({ success: true })
  await flushEventLoop()
  assert.deepEqual(
    sender.texts().map((text) => text.length),
    [sentence.length + ' x ▉'.length, sentence.length + ' ▉'.length + 501],
  )
})

test('a draft that fills its message stops growing, and the final parts contain the rest', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 0, limits: { maxChars: 800, unit: 'utf16' } })
  const { sender, outbox } = bench
  const text = 'word '.repeat(400).trim()
  const draft = openDraft(bench)
  draft.update(text.slice(0, 300))
  await flushEventLoop()
  draft.update(text.slice(0, 1_200))
  await flushEventLoop()
  draft.update(text)
  await flushEventLoop()
  assert.deepEqual(
    sender.texts().map((shown) => shown.length),
    [301, 700],
  )
  const address = await draft.close()
  assert.ok(address !== null)
  await bench.say(text, { turnId, draft: address })
  await outbox.whenIdle()
  const [first, ...rest] = sender.calls.slice(2)
  assert.deepEqual([first?.op, first?.messageId, first?.final], ['edit', 'm1', true])
  assert.ok(rest.length >= 2 && rest.every(({ op }) => op === 'send'))
})

test('the final reply replaces the draft', async (t) => {
  const bench = openOutbox(t)
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  const address = await draft.close()
  assert.ok(address !== null)
  await bench.say(`${sentence} Done.`, { turnId, draft: address })
  await bench.outbox.whenIdle()
  assert.deepEqual([...bench.sender.shown.values()], [`${sentence} Done.`])
  assert.equal(bench.outbox.draftAddressOf(turnId), null)
})

test('a draft that already shows the final text is not edited again', async (t) => {
  const bench = openOutbox(t, { settings: { streaming: { cursor: '' } } })
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  const address = await draft.close()
  assert.ok(address !== null)
  await bench.say(sentence, { turnId, draft: address })
  await bench.outbox.whenIdle()
  assert.equal(bench.sender.calls.length, 1)
  assert.deepEqual(
    (await bench.rows()).map(({ state, platform_id }) => [state, platform_id]),
    [['sent', 'm1']],
  )
})

test('adapters that draw the cursor get the final edit even when the text is unchanged', async (t) => {
  const bench = openOutbox(t, { drawsCursor: true })
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  const address = await draft.close()
  assert.ok(address !== null)
  await bench.say(sentence, { turnId, draft: address })
  await bench.outbox.whenIdle()
  assert.deepEqual(
    bench.sender.calls.map(({ op, final }) => [op, final]),
    [
      ['send', false],
      ['edit', true],
    ],
  )
})

test('closing waits for the running call, so that no late edit overwrites the reply', async (t) => {
  const bench = openOutbox(t)
  const answer = createDeferred<{ success: true; messageId: string }>()
  bench.sender.script.push(answer.promise)
  const draft = openDraft(bench)
  draft.update(sentence)
  await bench.sender.reached(1)
  let closed = false
  const closing = draft.close().then((address) => {
    closed = true
    return address
  })
  await flushEventLoop()
  assert.equal(closed, false)
  answer.resolve({ success: true, messageId: 'm5' })
  const { platformId, shownText } = (await closing) ?? {}
  assert.deepEqual([platformId, shownText], ['m5', `${sentence} ▉`])
  draft.update(`${sentence} too late`)
  await flushEventLoop()
  assert.equal(bench.sender.calls.length, 1)
})

test('a draft waits as long as the platform requests, and so does the reply after it', async (t) => {
  const bench = openOutbox(t)
  const { sender, time, outbox } = bench
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  sender.script.push(limited(20_000))
  time.advance(800)
  draft.update(`${sentence} more`)
  await flushEventLoop()
  const address = await draft.close()
  assert.ok(address !== null)
  await bench.say('the answer', { turnId, draft: address })
  await outbox.whenIdle()
  time.advance(20_000)
  await outbox.whenIdle()
  assert.equal(sender.calls.length, 2)
  time.advance(1)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts().at(-1), 'the answer')
})

test('after three consecutive failures the draft is not updated any more, and the reply still arrives', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 0 })
  const { sender } = bench
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  sender.script.push(temporary, temporary, rejected)
  draft.update(`${sentence} more`)
  await flushEventLoop()
  draft.update(`${sentence} and more`)
  await flushEventLoop()
  assert.equal(sender.calls.length, 4)
  const address = await draft.close()
  assert.ok(address !== null)
  assert.deepEqual([address.platformId, address.shownText], ['m1', ''])
  await bench.say('the answer', { turnId, draft: address })
  await bench.outbox.whenIdle()
  assert.deepEqual([...sender.shown.values()], ['the answer'])
})

test('a first draft that may have arrived is not sent twice', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 0 })
  bench.sender.script.push(lost)
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  draft.update(`${sentence} more`)
  await flushEventLoop()
  assert.equal(bench.sender.calls.length, 1)
  assert.equal(await draft.close(), null)
})

test('a first draft that may have arrived is found if the platform can be queried', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 0, resolve: true })
  bench.sender.script.push(lost)
  bench.sender.found = { sent: true, messageId: 'm3' }
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  assert.deepEqual(
    bench.sender.calls.map(({ op, messageId }) => [op, messageId]),
    [
      ['send', ''],
      ['resolve', ''],
      ['edit', 'm3'],
    ],
  )
})

test('a first draft whose response is lost while the turn ends is found, so that the reply replaces it', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 0, resolve: true })
  const response = createDeferred<typeof lost>()
  bench.sender.script.push(response.promise)
  bench.sender.found = { sent: true, messageId: 'm3' }
  const draft = openDraft(bench)
  draft.update(sentence)
  await bench.sender.reached(1)
  draft.update(`${sentence} The end.`)
  const closing = draft.close()
  response.resolve(lost)
  const address = await closing
  assert.ok(address !== null)
  await bench.say('the answer', { turnId, draft: address })
  await bench.outbox.whenIdle()
  assert.deepEqual(
    bench.sender.calls.map(({ op, deliveryId, messageId, text }) => [op, deliveryId, messageId || text]),
    [
      ['send', `draft:${turnId}`, `${sentence} ▉`],
      ['resolve', `draft:${turnId}`, 'the answer ▉'],
      ['edit', 'reply-1:1', 'm3'],
    ],
  )
})

/** A reply whose draft was sent without a response, on a platform that cannot be asked for it yet. */
async function answerAfterLostDraft(t: TestContext) {
  const bench = openOutbox(t, { draftIntervalMs: 0, resolve: true })
  bench.sender.script.push(lost)
  bench.sender.found = new Error('unreachable')
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  const address = await draft.close()
  assert.ok(address !== null)
  await bench.say('the answer', { turnId, draft: address })
  return bench
}

test('a reply waits until the search for its lost draft has an answer', async (t) => {
  const bench = await answerAfterLostDraft(t)
  await flushEventLoop()
  assert.deepEqual([...bench.sender.shown.values()], [])
  bench.sender.found = { sent: true, messageId: 'm3' }
  bench.time.advance(60_000)
  await bench.outbox.whenIdle()
  assert.deepEqual([...bench.sender.shown], [['m3', 'the answer']])
})

test('a lost draft is found after an outage of many attempts, too', async (t) => {
  const bench = await answerAfterLostDraft(t)
  while (((await bench.rows())[0]?.tries ?? 0) < 4) {
    await flushEventLoop()
    bench.time.advance(60_000)
  }
  bench.sender.found = { sent: true, messageId: 'm3' }
  bench.time.advance(60_000)
  await bench.outbox.whenIdle()
  assert.deepEqual([...bench.sender.shown], [['m3', 'the answer']])
})

test('a reply is sent as a new message when its lost draft is not found', async (t) => {
  for (const found of [{ sent: false } as const, 'unknown' as const, new Error('unreachable')]) {
    const bench = openOutbox(t, { draftIntervalMs: 0, resolve: true })
    bench.sender.script.push(lost)
    const draft = openDraft(bench)
    draft.update(sentence)
    await bench.sender.reached(1)
    const address = await draft.close()
    assert.ok(address !== null)
    bench.sender.found = found
    await bench.say('the answer', { turnId, draft: address })
    for (let hour = 0; hour < 10; hour++) {
      await flushEventLoop()
      bench.time.advance(3_600_000)
    }
    await bench.outbox.whenIdle()
    assert.deepEqual([...bench.sender.shown.values()], ['the answer'])
  }
})

test('a draft ends when the token is rejected', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 0 })
  bench.sender.script.push(unauthorised)
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  assert.equal(bench.sender.calls.length, 1)
  assert.equal(await draft.close(), null)
})

test('without support or permission of the platform or the settings there is no draft', async (t) => {
  const options = { target, turnId }
  assert.equal(openOutbox(t, { edit: false }).outbox.openDraft(options), null)
  assert.equal(openOutbox(t, { settings: { streaming: { enabled: false } } }).outbox.openDraft(options), null)
  const disconnected = openOutbox(t)
  disconnected.connected = false
  assert.equal(disconnected.outbox.openDraft(options), null)
})

test('a draft does not overtake a pending reply, and appears once that is sent', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 0 })
  const { sender, time, outbox } = bench
  sender.script.push(temporary)
  await bench.say('before')
  await outbox.whenIdle()
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  assert.deepEqual(sender.texts(), ['before'])
  time.advance(1_000)
  await outbox.whenIdle()
  draft.update(`${sentence} more`)
  await flushEventLoop()
  assert.deepEqual(sender.texts(), ['before', 'before', `${sentence} more ▉`])
})

test('a resumed turn continues its earlier draft', async (t) => {
  const first = openOutbox(t)
  openDraft(first).update(sentence)
  await flushEventLoop()
  first.crash()
  const second = openOutbox(t, { path: first.path, sender: first.sender })
  await second.outbox.recover()
  assert.deepEqual(second.outbox.draftAddressOf(turnId), { platformId: 'm1', shownText: '' })
  const draft = openDraft(second, { resumed: true })
  draft.update('Again')
  await flushEventLoop()
  const address = await draft.close()
  assert.ok(address !== null)
  await second.say('Again, whole', { turnId, draft: address })
  await second.outbox.whenIdle()
  assert.deepEqual([...first.sender.shown.values()], ['Again, whole'])
  const third = openOutbox(t, { path: first.path, sender: first.sender })
  await third.outbox.recover()
  assert.equal(third.outbox.draftAddressOf(turnId), null)
})

test('a resumed turn that ends at once replaces its earlier draft', async (t) => {
  const first = openOutbox(t)
  openDraft(first).update(sentence)
  await flushEventLoop()
  first.crash()
  const second = openOutbox(t, { path: first.path, sender: first.sender })
  await second.outbox.recover()
  second.connected = false
  const draft = openDraft(second)
  draft.update(sentence)
  assert.deepEqual(await draft.close(), { platformId: 'm1', shownText: '' })
})

test('a draft that was accepted just before a crash is found if the platform can be queried', async (t) => {
  const first = openOutbox(t, { resolve: true })
  first.onFailpoint = (point) => void (point === 'draft:sent' && first.crash())
  openDraft(first).update(sentence)
  await flushEventLoop()
  const second = openOutbox(t, { path: first.path, sender: first.sender })
  first.sender.found = { sent: true, messageId: 'm1' }
  await second.outbox.recover()
  const draft = openDraft(second, { resumed: true })
  draft.update(sentence)
  await flushEventLoop()
  assert.deepEqual([...first.sender.shown.keys()], ['m1'])
  assert.equal((await draft.close())?.platformId, 'm1')
})

test('a resumed turn that shows no draft replaces one that was accepted just before a crash', async (t) => {
  for (const connected of [true, false]) {
    const first = openOutbox(t, { resolve: true })
    first.onFailpoint = (point) => void (point === 'draft:sent' && first.crash())
    openDraft(first).update(sentence)
    await flushEventLoop()
    const second = openOutbox(t, { path: first.path, sender: first.sender })
    first.sender.found = { sent: true, messageId: 'm1' }
    second.connected = connected
    await second.outbox.recover()
    const address = await openDraft(second, { resumed: true }).close()
    assert.ok(address !== null)
    await second.say('the answer', { turnId, draft: address })
    second.connected = true
    second.outbox.platformConnected(target.platform, target.account)
    await second.outbox.whenIdle()
    assert.deepEqual([...first.sender.shown], [['m1', 'the answer']])
  }
})

test('a turn without a reply removes its draft', async (t) => {
  const bench = openOutbox(t, { remove: true })
  const draft = openDraft(bench)
  draft.update(sentence)
  await flushEventLoop()
  const address = await draft.close()
  assert.ok(address !== null)
  await bench.say('', { turnId, draft: address })
  await flushEventLoop()
  assert.deepEqual([...bench.sender.shown.values()], [])
})

test('a turn without a reply removes its draft although the response to it was lost', async (t) => {
  const bench = openOutbox(t, { remove: true, resolve: true, draftIntervalMs: 0 })
  bench.sender.script.push(lost)
  const draft = openDraft(bench)
  draft.update(sentence)
  await bench.sender.reached(1)
  const address = await draft.close()
  assert.ok(address !== null)
  bench.sender.found = { sent: true, messageId: 'm3' }
  await bench.say('', { turnId, draft: address })
  await flushEventLoop()
  assert.deepEqual(
    bench.sender.calls.slice(1).map(({ op, text, messageId }) => [op, text || messageId]),
    [
      ['resolve', ''],
      ['remove', 'm3'],
    ],
  )
})

test('a draft never shows half a character', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 0, limits: { maxChars: 700, unit: 'utf16' } })
  const draft = openDraft(bench)
  draft.update(`${sentence}\ud83d`)
  await flushEventLoop()
  draft.update(`x${'👩‍🚀'.repeat(200)}`)
  await flushEventLoop()
  const [first = '', second = ''] = bench.sender.texts()
  assert.ok(first.isWellFormed() && second.isWellFormed())
  assert.ok(second.endsWith('👩‍🚀 ▉'))
})
