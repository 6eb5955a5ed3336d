import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enlist, type TransactionPart } from '../../src/store/query.ts'
import { createDeferred, limited, lost, openOutbox, rejected, temporary, unauthorised } from './support.ts'

test('a reply reaches its chat as a reply to its message', async (t) => {
  const { outbox, sender, say, rows } = openOutbox(t)
  await say('hello', { replyTo: 'question', turnId: 'turn', threadId: 'topic' })
  await outbox.whenIdle()
  const [call] = sender.calls
  assert.deepEqual(
    [call?.op, call?.text, call?.kind, call?.replyTo, call?.thread, call?.deliveryId],
    ['send', 'hello', 'reply', 'question', 'topic', 'reply-1:1'],
  )
  const [row] = await rows()
  assert.deepEqual([row?.state, row?.platform_id, row?.error], ['sent', 'm1', null])
})

test('a short reply in a quiet chat costs one further transaction and leaves no timer', async (t) => {
  const { outbox, time, say, transactions } = openOutbox(t)
  await say('hello')
  await outbox.whenIdle()
  assert.equal(transactions(), 2)
  assert.deepEqual(time.pendingSleeps(), [])
})

test('a reply is stored as being sent before the platform is called', async (t) => {
  const { outbox, sender, say, states, failpoints } = openOutbox(t)
  const answer = createDeferred<{ success: true }>()
  sender.script.push(answer.promise)
  await say('hello')
  await sender.reached(1)
  assert.deepEqual(await states(), ['sending'])
  answer.resolve({ success: true })
  await outbox.whenIdle()
  assert.deepEqual(await states(), ['sent'])
  assert.deepEqual(failpoints, ['outbox:claimed', 'outbox:accepted', 'outbox:settled'])
})

test('replies of one chat, including its threads, arrive in the order in which they were stored', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  await Promise.all([say('one'), say('two', { threadId: 'a' }), say('three'), say('four', { threadId: 'b' })])
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'two', 'three', 'four'])
})

test('two replies stored at the same time are never in flight together', async (t) => {
  const { outbox, sender, say, states } = openOutbox(t)
  const answer = createDeferred<{ success: true }>()
  sender.script.push(answer.promise)
  await Promise.all([say('one'), say('two')])
  await sender.reached(1)
  assert.deepEqual(await states(), ['sending', 'queued'])
  assert.deepEqual(sender.texts(), ['one'])
  answer.resolve({ success: true })
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'two'])
})

test('the parts of a long reply arrive in order, and only the first refers to the message', async (t) => {
  const { outbox, sender, say } = openOutbox(t, { limits: { maxChars: 60, unit: 'utf16' } })
  await say('word '.repeat(30).trim(), { replyTo: 'question' })
  await outbox.whenIdle()
  assert.deepEqual(
    sender.calls.map(({ deliveryId, replyTo }) => [deliveryId, replyTo]),
    [
      ['reply-1:1', 'question'],
      ['reply-1:2', ''],
      ['reply-1:3', ''],
    ],
  )
  assert.ok(sender.texts().every((text) => text.length <= 60))
})

test('a reply that the platform cannot show in one message is stored as several', async (t) => {
  const fits = (text: string) => text.split('**').length <= 21
  const { outbox, sender, say } = openOutbox(t, { limits: { maxChars: 4_000, unit: 'utf16', fits } })
  await say('**word** and more words '.repeat(30).trim())
  await outbox.whenIdle()
  assert.ok(sender.texts().length >= 3)
  assert.ok(sender.texts().every(fits))
  assert.equal(
    sender
      .texts()
      .join(' ')
      .match(/word\*\*/g)?.length,
    30,
  )
})

test('the limits of the manifest apply while the platform is disconnected', async (t) => {
  const bench = openOutbox(t, { limitsOf: { maxChars: 60, unit: 'utf16' } })
  bench.connected = false
  await bench.say('word '.repeat(30).trim())
  assert.equal((await bench.rows()).length, 3)
})

test('a blank reply sends nothing', async (t) => {
  const { outbox, sender, say, rows } = openOutbox(t)
  await say(' \n')
  await outbox.whenIdle()
  assert.deepEqual([sender.calls.length, (await rows()).length], [0, 0])
})

test('completing a turn twice with the same key sends one reply', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  await say('hello', { key: 'turn:1' })
  await say('hello', { key: 'turn:1' })
  await outbox.whenIdle()
  await say('hello', { key: 'turn:1' })
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello'])
})

test('a reply whose transaction fails is not sent, and the chat is free for the next reply', async (t) => {
  const { outbox, store, sender, say, time, rows } = openOutbox(t)
  const target = { platform: 'fake', account: 'default', chatId: 'chat' }
  const prepared = outbox.prepare({ key: 'never', target, kind: 'reply', text: 'never' })
  const failing = store.run(function* () {
    yield* enlist(prepared, time.clock())
    throw new Error('overtaken')
  })
  await assert.rejects(failing, /overtaken/)
  await say('hello')
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello'])
  assert.equal((await rows()).length, 1)
})

test('a reply whose transaction is retried is sent once', async (t) => {
  const { outbox, store, sender, time } = openOutbox(t)
  const target = { platform: 'fake', account: 'default', chatId: 'chat' }
  const prepared = outbox.prepare({ key: 'reply', target, kind: 'reply', text: 'hello' })
  let isFull = true
  const ending: TransactionPart = {
    *write(now) {
      yield* enlist(prepared, now)
      if (isFull) throw new Error('disk full')
    },
  }
  await store.commit(ending, time.clock, async () => {
    isFull = false
  })
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello'])
})

test('a reply whose commit is reported late is sent once and in order', async (t) => {
  const { outbox, store, sender, say, time } = openOutbox(t)
  const target = { platform: 'fake', account: 'default', chatId: 'chat' }
  const slow = outbox.prepare({ key: 'slow', target, kind: 'reply', text: 'one' })
  await store.run(() => slow.write(time.clock()))
  await say('two')
  await outbox.whenIdle()
  slow.committed?.()
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'two'])
})

test('a rate limit is respected to the millisecond, blocks the chat, and does not count as an attempt', async (t) => {
  const { outbox, sender, time, say, rows } = openOutbox(t, { settings: { outbox: { max_tries: 1 } } })
  sender.script.push(limited(7_000), limited(500))
  await say('one')
  await say('two')
  await say('elsewhere', { chatId: 'other' })
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'elsewhere'])
  assert.deepEqual(time.pendingSleeps(), [501, 7_001])
  const [row] = await rows()
  assert.deepEqual([row?.state, row?.tries, row?.due_at], ['queued', 0, time.clock() + 7_001])
  time.advance(7_000)
  await outbox.whenIdle()
  assert.equal(sender.texts().filter((text) => text === 'one').length, 1)
  time.advance(1)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts().slice(-2), ['one', 'two'])
})

test('no reply, not even a new one, is sent to a chat before its rate limit ends', async (t) => {
  const { outbox, sender, time, say } = openOutbox(t)
  sender.script.push(limited(3_000))
  await say('one')
  await outbox.whenIdle()
  await say('two')
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one'])
  time.advance(3_001)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'one', 'two'])
})

test('a temporary failure is retried with increasing delays, and the reply becomes a dead letter after the last attempt', async (t) => {
  const { outbox, sender, time, say, rows } = openOutbox(t, { settings: { outbox: { max_tries: 4, max_backoff: 3 } } })
  sender.script.push(temporary, temporary, temporary, temporary)
  await say('one')
  const pauses: number[] = []
  for (let round = 0; round < 3; round += 1) {
    await outbox.whenIdle()
    const [ms = 0] = time.pendingSleeps()
    pauses.push(ms)
    time.advance(ms)
  }
  await outbox.whenIdle()
  assert.deepEqual(pauses, [1_000, 2_000, 3_000])
  const [row] = await rows()
  assert.deepEqual([row?.state, row?.tries, row?.error], ['dead', 4, 'bad gateway'])
  assert.deepEqual(time.pendingSleeps(), [])
})

test('a rejected reply becomes a dead letter at once and does not block later replies', async (t) => {
  const { outbox, sender, say, states } = openOutbox(t)
  sender.script.push(rejected)
  await Promise.all([say('one'), say('two')])
  await outbox.whenIdle()
  assert.deepEqual(await states(), ['dead', 'sent'])
  assert.deepEqual(sender.texts(), ['one', 'two'])
})

test('a revoked token stops the account until it connects again, and does not count as an attempt', async (t) => {
  const { outbox, sender, time, say, rows } = openOutbox(t, { settings: { outbox: { max_tries: 1 } } })
  sender.script.push(unauthorised)
  await say('one')
  await outbox.whenIdle()
  await say('two', { chatId: 'other' })
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one'])
  assert.deepEqual(time.pendingSleeps(), [])
  assert.deepEqual(
    (await rows()).map(({ state, tries, error }) => [state, tries, error]),
    [
      ['queued', 0, 'token revoked'],
      ['queued', 0, null],
    ],
  )
  outbox.platformConnected('fake', 'default')
  await outbox.whenIdle()
  assert.deepEqual(sender.texts().sort(), ['one', 'one', 'two'])
})

test('replies wait while their platform is disconnected and are sent when it is connected again', async (t) => {
  const bench = openOutbox(t)
  bench.connected = false
  await bench.say('one')
  await bench.say('two')
  await bench.outbox.whenIdle()
  assert.deepEqual(await bench.states(), ['queued', 'queued'])
  bench.connected = true
  bench.outbox.platformConnected('other', 'default')
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.texts(), [])
  bench.outbox.platformConnected('fake', 'default')
  await bench.outbox.whenIdle()
  assert.deepEqual(bench.sender.texts(), ['one', 'two'])
})

test('a platform that disconnects between the transaction and the call gets the reply later, without a label', async (t) => {
  const bench = openOutbox(t)
  const { outbox, store, time, sender } = bench
  const target = { platform: 'fake', account: 'default', chatId: 'chat' }
  const prepared = outbox.prepare({ key: 'reply', target, kind: 'reply', text: 'hello' })
  await store.run(() => prepared.write(time.clock()))
  bench.connected = false
  prepared.committed?.()
  await outbox.whenIdle()
  assert.deepEqual(await bench.states(), ['queued'])
  bench.connected = true
  outbox.platformConnected('fake', 'default')
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['hello'])
})

test('a failing chat does not delay another chat', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  sender.script.push(createDeferred<never>().promise, temporary, lost)
  await say('hangs', { chatId: 'a' })
  await say('fails', { chatId: 'b' })
  await say('unclear', { chatId: 'c' })
  await say('fine', { chatId: 'd' })
  await sender.reached(4)
  assert.equal(sender.texts().at(-1), 'fine')
  await outbox.stop(0)
})

test('unpaired surrogates from the model do not reach the platform', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  await say('broken \ud83d')
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['broken \ufffd'])
})
