/**
 * A chat that takes no messages any more receives nothing that no one there has asked for, until it shows life.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptEvent } from '../../src/inbox/queries.ts'
import { brand } from '../../src/lib/ids.ts'
import type { EventKey, SessionKey } from '../../src/message/ids.ts'
import type { SendResult } from '../../src/message/outbound.ts'
import { openOutbox, rejected, temporary } from './support.ts'

const gone: SendResult = { success: false, problem: 'rejected', error: 'the bot was blocked', chatGone: true }
const unsolicited = { isUnsolicited: true }

test('after the bot was blocked, later messages are skipped with the reason', async (t) => {
  const { outbox, sender, say, settled, rows } = openOutbox(t)
  sender.script.push(gone)
  await say('one', unsolicited)
  await outbox.whenIdle()
  await say('two', unsolicited)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one'])
  const [first, second] = await rows()
  assert.deepEqual([first?.state, second?.state], ['dead', 'dropped'])
  assert.match(second?.error ?? '', /skipped.*blocked/)
  assert.match(settled.at(-1) ?? '', /given up two: skipped/)
})

test('other chats, and replies to a person, are sent as before', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  sender.script.push(gone)
  await say('one', unsolicited)
  await outbox.whenIdle()
  await say('elsewhere', { ...unsolicited, chatId: 'other' })
  await say('an answer')
  await outbox.whenIdle()
  assert.deepEqual(sender.texts().sort(), ['an answer', 'elsewhere', 'one'])
})

test('neither a temporary failure nor the rejection of one message makes a chat dead', async (t) => {
  const { outbox, sender, say } = openOutbox(t, { settings: { outbox: { max_tries: 1 } } })
  sender.script.push(temporary, rejected)
  await say('one', unsolicited)
  await outbox.whenIdle()
  await say('two', unsolicited)
  await outbox.whenIdle()
  await say('three', unsolicited)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'two', 'three'])
})

test('a message from the chat makes it work again', async (t) => {
  const { outbox, sender, say, store } = openOutbox(t)
  sender.script.push(gone)
  await say('one', unsolicited)
  await outbox.whenIdle()
  const event = {
    sessionKey: brand<SessionKey>('key'),
    lane: 'turn' as const,
    kind: 'text',
    platform: 'fake',
    account: 'default',
    chatId: 'chat',
    payload: '{}',
  }
  await store.run(() => acceptEvent(event, [brand<EventKey>('event')], 1))
  await say('two', unsolicited)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'two'])
})

test('a delivered reply makes the chat work again', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  sender.script.push(gone)
  await say('one', unsolicited)
  await outbox.whenIdle()
  await say('a reply')
  await outbox.whenIdle()
  await say('two', unsolicited)
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'a reply', 'two'])
})

test('a dead letter that is sent again makes the chat work again, also over a restart', async (t) => {
  const first = openOutbox(t)
  const { sender } = first
  sender.script.push(gone)
  await first.say('one', unsolicited)
  await first.outbox.whenIdle()
  await first.outbox.stop(0)
  const { outbox, say } = openOutbox(t, { path: first.path, time: first.time, sender })
  await say('two', { ...unsolicited, key: 'second' })
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one'])
  const [letter] = await outbox.list()
  assert.equal(await outbox.retry(letter?.id ?? 0), true)
  await outbox.whenIdle()
  await say('three', { ...unsolicited, key: 'third' })
  await outbox.whenIdle()
  assert.deepEqual(sender.texts(), ['one', 'one', 'three'])
})
