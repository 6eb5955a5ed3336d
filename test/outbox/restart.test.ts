import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Capabilities, type OutboxFixture, openOutbox, rejected, temporary } from './support.ts'

const label = '♻️ May be a duplicate:'

/** Crashes a first outbox at a failpoint, and starts the next one on the same database and platform. */
async function crashAt(
  t: TestContext,
  point: string,
  act: (bench: OutboxFixture) => Promise<void>,
  abilities: Capabilities = {},
): Promise<OutboxFixture> {
  const first = openOutbox(t, abilities)
  const died = new Promise<void>((resolve) => {
    first.onFailpoint = (at) => {
      if (at !== point) return
      first.crash()
      resolve()
    }
  })
  await act(first)
  await died
  return openOutbox(t, { ...abilities, path: first.path, time: first.time, sender: first.sender })
}

test('replies that were stored and not sent are sent after a restart, in order', async (t) => {
  const first = openOutbox(t)
  first.connected = false
  for (const text of ['one', 'two', 'three']) await first.say(text)
  await first.outbox.whenIdle()
  first.crash()
  const second = openOutbox(t, { path: first.path, sender: first.sender })
  assert.deepEqual(await second.outbox.recover(), { openChats: 1 })
  await second.outbox.whenIdle()
  assert.deepEqual(second.sender.texts(), ['one', 'two', 'three'])
  assert.deepEqual(second.settled, ['sent one', 'sent two', 'sent three'])
})

test('a crash before the call leads to a labelled reply, because it is unknown whether it was sent', async (t) => {
  const second = await crashAt(t, 'outbox:claimed', (first) => first.say('hello'))
  assert.deepEqual(second.sender.texts(), [])
  await second.outbox.recover()
  await second.outbox.whenIdle()
  assert.deepEqual(second.sender.texts(), [`${label}\n\nhello`])
  assert.deepEqual(await second.states(), ['sent'])
})

test('a crash after the platform accepted a reply leads to one labelled repetition', async (t) => {
  const second = await crashAt(t, 'outbox:accepted', (first) => first.say('hello'))
  await second.outbox.recover()
  await second.outbox.whenIdle()
  assert.deepEqual(second.sender.texts(), ['hello', `${label}\n\nhello`])
})

test('after a crash that follows the receipt nothing is sent again', async (t) => {
  const second = await crashAt(t, 'outbox:settled', (first) => first.say('hello'))
  assert.deepEqual(await second.outbox.recover(), { openChats: 0 })
  await second.outbox.whenIdle()
  assert.deepEqual(second.sender.texts(), ['hello'])
})

test('a crash during recovery loses nothing and duplicates nothing without a label', async (t) => {
  const second = await crashAt(t, 'outbox:accepted', (first) => first.say('hello'))
  await second.say('behind', { key: 'behind' })
  second.onFailpoint = (point) => void (point === 'outbox:recovering' && second.crash())
  await second.outbox.recover()
  const third = openOutbox(t, { path: second.path, sender: second.sender })
  await third.outbox.recover()
  await third.outbox.whenIdle()
  assert.deepEqual(third.sender.texts(), ['hello', `${label}\n\nhello`, 'behind'])
})

test('a platform that can be queried gets no repetition after a crash', async (t) => {
  const second = await crashAt(t, 'outbox:accepted', (first) => first.say('hello'), { resolve: true })
  second.sender.found = { sent: true, messageId: 'm1' }
  await second.outbox.recover()
  await second.outbox.whenIdle()
  assert.deepEqual(second.sender.texts(), ['hello'])
  assert.deepEqual(await second.states(), ['sent'])
})

test('an edit that was running at the crash is repeated without a label', async (t) => {
  const draft = { platformId: 'm9', shownText: '' }
  const second = await crashAt(t, 'outbox:accepted', (first) => first.say('hello', { draft }))
  await second.outbox.recover()
  await second.outbox.whenIdle()
  assert.deepEqual(
    second.sender.calls.map(({ op, text }) => [op, text]),
    [
      ['edit', 'hello'],
      ['edit', 'hello'],
    ],
  )
})

test('an edit that had become a send before the crash is labelled like any send', async (t) => {
  let claims = 0
  const first = openOutbox(t)
  first.sender.script.push(rejected)
  const died = new Promise<void>((resolve) => {
    first.onFailpoint = (point) => {
      if (point === 'outbox:claimed') claims += 1
      if (point !== 'outbox:accepted') return
      first.crash()
      resolve()
    }
  })
  await first.say('hello', { draft: { platformId: 'm9', shownText: '' } })
  await died
  assert.equal(claims, 2)
  const second = openOutbox(t, { path: first.path, sender: first.sender })
  await second.outbox.recover()
  await second.outbox.whenIdle()
  assert.deepEqual(second.sender.texts(), ['hello', 'hello', `${label}\n\nhello`])
})

test('a rate limit survives a restart', async (t) => {
  const first = openOutbox(t)
  first.sender.script.push({ success: false, problem: 'rate-limited', error: 'slow down', retryAfterMs: 9_000 })
  await first.say('hello')
  await first.outbox.whenIdle()
  first.crash()
  const second = openOutbox(t, { path: first.path, time: first.time, sender: first.sender })
  await second.outbox.recover()
  await second.outbox.whenIdle()
  assert.equal(second.sender.calls.length, 1)
  first.time.advance(9_001)
  await second.outbox.whenIdle()
  assert.deepEqual(second.sender.texts(), ['hello', 'hello'])
})

test('a reply that was being sent at every crash finally becomes a dead letter', async (t) => {
  const settings = { outbox: { max_tries: 3 } }
  const first = openOutbox(t, { settings })
  first.onFailpoint = (point) => void (point === 'outbox:claimed' && first.crash())
  await first.say('poison')
  for (let life = 2; life <= 3; life += 1) {
    const next = openOutbox(t, { settings, path: first.path, sender: first.sender })
    const died = new Promise<void>((resolve) => {
      next.onFailpoint = (point) => {
        if (point !== 'outbox:claimed') return
        next.crash()
        resolve()
      }
    })
    await next.outbox.recover()
    await died
  }
  const last = openOutbox(t, { settings, path: first.path, sender: first.sender })
  assert.deepEqual(await last.outbox.recover(), { openChats: 0 })
  assert.deepEqual(last.settled, ['given up poison: the gateway ended while it was being sent'])
  const [letter] = await last.outbox.list()
  assert.deepEqual([letter?.text, letter?.tries, letter?.doubt], ['poison', 3, 1])
})

test('an empty outbox recovers in one transaction', async (t) => {
  const { outbox, transactions } = openOutbox(t)
  await outbox.recover()
  await outbox.whenIdle()
  assert.equal(transactions(), 1)
})

test('chats whose platform is not connected cost nothing at the start', async (t) => {
  const first = openOutbox(t)
  first.connected = false
  for (let chat = 0; chat < 50; chat += 1) await first.say('hello', { chatId: `chat-${chat}` })
  first.crash()
  const second = openOutbox(t, { path: first.path, sender: first.sender })
  second.connected = false
  assert.deepEqual(await second.outbox.recover(), { openChats: 50 })
  await second.outbox.whenIdle()
  assert.equal(second.transactions(), 1)
  second.connected = true
  second.outbox.platformConnected('fake', 'default')
  await second.outbox.whenIdle()
  assert.equal(second.sender.shown.size, 50)
})

test('the number of attempts survives a restart', async (t) => {
  const options = { settings: { outbox: { max_tries: 2 } } }
  const first = openOutbox(t, options)
  first.sender.script.push(temporary, temporary)
  await first.say('hello')
  await first.outbox.whenIdle()
  first.crash()
  const second = openOutbox(t, { ...options, path: first.path, time: first.time, sender: first.sender })
  await second.outbox.recover()
  await second.outbox.whenIdle()
  first.time.advance(1_000)
  await second.outbox.whenIdle()
  assert.deepEqual(await second.states(), ['dead'])
})
