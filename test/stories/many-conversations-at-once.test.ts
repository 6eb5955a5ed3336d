/**
 * Many people write at once, and one conversation is stuck: nothing is lost, and every other conversation goes on in its order.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { auditInbox } from '../../src/inbox/audit.ts'
import { openStore } from '../kit/open-store.ts'
import { startTestGateway } from '../kit/start-gateway.ts'

test('at 50 messages per second over 200 conversations each one is answered once, in the order of its conversation', async (t) => {
  const perSecond = 50
  const count = 5 * perSecond
  const gateway = await startTestGateway(t, {
    model: ({ lastUserText }) => ({ text: `re ${lastUserText}` }),
    gateway: { log: { pretty: false, level: 'error' } },
  })
  // Three of each ten messages that are sent together are of one conversation, so that they wait for each other.
  const chatOf = (index: number) => (index % 10 < 3 ? `busy ${Math.floor(index / 10)}` : `chat ${index}`)
  const texts = Map.groupBy(
    Array.from({ length: count }, (_, index) => index),
    chatOf,
  )
  assert.equal(texts.size, 200)
  const begun = performance.now()
  const sent: Promise<void>[] = []
  for (let index = 0; index < count; index++) {
    const due = begun + (Math.floor(index / 10) * 10_000) / perSecond
    if (due > performance.now()) await wait(due - performance.now())
    sent.push(gateway.say(`${index}`, { chat: chatOf(index) }))
  }
  await Promise.all(sent)
  for (const [chat, expected] of texts) {
    await gateway.waitForReply(`re ${expected.at(-1)}`, chat)
    assert.deepEqual(
      gateway.replies(chat),
      expected.map((index) => `re ${index}`),
    )
  }
  await gateway.stop()
  const audit = await openStore(t, gateway.home.databaseFile).store.run(() => auditInbox(0, 1_000))
  assert.deepEqual([audit.length, audit.filter(({ ending }) => ending !== 'answered')], [count, []])
})

test('a turn that is stuck for ten minutes delays no other conversation, not even with few turns at once', async (t) => {
  let now = Date.now()
  const gateway = await startTestGateway(t, {
    config: { agent: { max_concurrent_turns: 2 } },
    model: ({ lastUserText }) => (lastUserText === 'slow' ? { hang: 'headers' } : { text: `re ${lastUserText}` }),
    gateway: { clock: () => now },
  })
  await gateway.say('slow', { chat: 'stuck' })
  await gateway.modelRequest(0)
  for (let minute = 1; minute <= 10; minute++) {
    now += 60_000
    await gateway.say(`minute ${minute}`, { chat: `other ${minute}` })
    await gateway.waitForReply(`re minute ${minute}`, `other ${minute}`)
  }
  assert.deepEqual(gateway.replies('stuck'), [])
  const status: { turns: { running: number } } = JSON.parse(await (await gateway.http('/api/status')).text())
  assert.equal(status.turns.running, 1)
})

test('a flood of messages by one person leaves no trace in the answers of the others, and each of them is accounted for', async (t) => {
  const gate = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    model: ({ lastUserText }) =>
      lastUserText.startsWith('flood') ? { text: 'late', gate: () => gate.promise } : { text: `re ${lastUserText}` },
    gateway: { log: { pretty: false, level: 'error' } },
  })
  const flood = Array.from({ length: 300 }, (_, index) => gateway.say(`flood ${index}`, { chat: 'flood' }))
  const others = Array.from({ length: 20 }, (_, index) => gateway.say(`hello ${index}`, { chat: `other ${index}` }))
  await Promise.all([...flood, ...others])
  for (let index = 0; index < 20; index++) {
    await gateway.waitForReply(`re hello ${index}`, `other ${index}`)
    assert.deepEqual(gateway.replies(`other ${index}`), [`re hello ${index}`])
  }
  gate.resolve()
  await gateway.until(({ text }) => text === 'late')
  await gateway.stop()
  const audit = await openStore(t, gateway.home.databaseFile).store.run(() => auditInbox(0, 2_000))
  assert.deepEqual([audit.length, audit.filter(({ ending }) => ending === 'unaccounted')], [320, []])
})
