/**
 * Messages that are written while no session is connected: during an outage, and between two processes.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HermesError } from '../../../../src/lib/errors.ts'
import type { Target } from '../../../../src/message/source.ts'
import {
  acceptedTexts,
  type DiscordTest,
  messageTo,
  neverAborted,
  startDiscordTest,
  until,
  waitForEvent,
} from '../support.ts'

/** Ends the session so that it cannot be resumed, lets users write, and ends the outage. */
async function simulateOutage({ discord }: DiscordTest, meanwhile: () => void): Promise<void> {
  discord.gateway.turnAway(503)
  discord.gateway.forgetSessions()
  discord.gateway.cut()
  await until(() => discord.gateway.connections() === 0, discord)
  meanwhile()
  discord.gateway.turnAway(0)
}

// Most of the time the tests wait for the half second after which discord.js reconnects.
describe('catching up on missed messages', { concurrency: 8 }, () => {
  test('after an outage every message since the last one is ingested once, oldest first', async (t) => {
    const on = await startDiscordTest(t)
    const { discord, gateway, ada, dm } = on
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    await simulateOutage(on, () => {
      for (const text of ['one', 'two', 'three']) discord.say(ada, dm, text)
    })
    await waitForEvent(gateway, 'three')
    discord.say(ada, dm, 'after')
    await waitForEvent(gateway, 'after')
    assert.deepEqual(acceptedTexts(gateway), ['before', 'one', 'two', 'three', 'after'])
  })

  test('after a reconnect the log counts only messages that were missed', async (t) => {
    const on = await startDiscordTest(t)
    const { discord, gateway, adapter, targetFor, ada, dm } = on
    const counts = () =>
      gateway.logLines.flatMap((line) => {
        const { event, messages } = JSON.parse(line)
        return event === 'discord.caught_up' ? [messages] : []
      })
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    await adapter.send(messageTo(targetFor(dm.id), 'the answer'), neverAborted)
    const reads = () => discord.faults.calls('GET /channels/:id/messages')
    await simulateOutage(on, () => undefined)
    await until(() => gateway.ingestedEvents.length === 2, gateway)
    discord.say(ada, dm, 'between')
    await waitForEvent(gateway, 'between')
    assert.deepEqual([reads() > 0, counts()], [true, []])
    await simulateOutage(on, () => {
      for (const text of ['one', 'two']) discord.say(ada, dm, text)
    })
    await waitForEvent(gateway, 'two')
    discord.say(ada, dm, 'after')
    await waitForEvent(gateway, 'after')
    assert.deepEqual(counts(), [2])
  })

  test('live messages wait for the missed ones of their channel', async (t) => {
    const on = await startDiscordTest(t)
    const { discord, gateway, ada, dm } = on
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    const release = discord.faults.hold('GET /channels/:id/messages')
    await simulateOutage(on, () => discord.say(ada, dm, 'missed'))
    await until(() => discord.gateway.connections() === 1, discord)
    await until(() => discord.faults.calls('GET /channels/:id/messages') === 1, discord)
    discord.say(ada, dm, 'live')
    const eve = discord.person('Eve')
    discord.say(eve, discord.dm(eve), 'elsewhere')
    await waitForEvent(gateway, 'elsewhere')
    release()
    await waitForEvent(gateway, 'live')
    assert.deepEqual(acceptedTexts(gateway), ['before', 'elsewhere', 'missed', 'live'])
  })

  test('the next process answers what was written between the two', async (t) => {
    const { discord, gateway, adapter, ada, dm, mention, createAnother } = await startDiscordTest(t)
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    await adapter.disconnect()
    discord.say(ada, dm, 'meanwhile')
    discord.say(ada, discord.general, 'not for the bot')
    discord.say(ada, discord.general, `${mention} for the bot, in a channel that was never spoken in`)
    await createAnother().connect(neverAborted)
    await waitForEvent(gateway, 'for the bot, in a channel that was never spoken in')
    await waitForEvent(gateway, 'meanwhile')
    assert.deepEqual(acceptedTexts(gateway).sort(), [
      'before',
      'for the bot, in a channel that was never spoken in',
      'meanwhile',
    ])
  })

  test('a message in a thread of the bot that was written during an outage is answered there', async (t) => {
    const { discord, gateway, adapter, ada, dm, createAnother } = await startDiscordTest(t)
    const thread = discord.world.thread(discord.general, 'Gears', discord.bot.user)
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    await adapter.disconnect()
    discord.say(ada, thread, 'and then?')
    await createAnother().connect(neverAborted)
    const { event } = await waitForEvent(gateway, 'and then?')
    assert.deepEqual([event.source.chatId, event.source.threadId], [discord.general.id, thread.id])
  })

  test('the very first start answers no earlier message', async (t) => {
    const { discord, gateway, adapter, ada, dm, mention } = await startDiscordTest(t, { connect: false })
    discord.say(ada, dm, 'long ago')
    discord.say(ada, discord.general, `${mention} long ago`)
    await adapter.connect(neverAborted)
    discord.say(ada, dm, 'now')
    await waitForEvent(gateway, 'now')
    assert.deepEqual(acceptedTexts(gateway), ['now'])
  })

  test('more messages than one page are fetched in order, before live ones', async (t) => {
    const { discord, gateway, adapter, ada, dm, createAnother } = await startDiscordTest(t)
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    await adapter.disconnect()
    const missed = Array.from({ length: 250 }, (_, index) => String(index + 1))
    for (const text of missed) discord.say(ada, dm, text)
    const release = discord.faults.hold('GET /channels/:id/messages')
    await createAnother().connect(neverAborted)
    await until(() => discord.faults.calls('GET /channels/:id/messages') === 1, discord)
    discord.say(ada, dm, 'live')
    release()
    await waitForEvent(gateway, 'live')
    assert.deepEqual(acceptedTexts(gateway), ['before', ...missed, 'live'])
    assert.equal(discord.sent(dm.id).length, 0)
  })

  test('more messages than catch_up.max are skipped, which the log and the people of the chat are told once', async (t) => {
    const { discord, gateway, adapter, ada, dm, createAnother } = await startDiscordTest(t, { catchUpLimit: 120 })
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    await adapter.disconnect()
    for (let number = 1; number <= 150; number += 1) discord.say(ada, dm, String(number))
    gateway.failNextAccept(new HermesError('store/full'))
    await createAnother().connect(neverAborted)
    await waitForEvent(gateway, '150')
    await until(() => discord.sent(dm.id).length > 0, discord)
    discord.say(ada, dm, 'after')
    await waitForEvent(gateway, 'after')
    assert.deepEqual(acceptedTexts(gateway).slice(0, 3), ['before', '31', '32'])
    assert.equal(acceptedTexts(gateway).length, 122)
    assert.equal(discord.sent(dm.id).length, 1)
    const logged = gateway.logLines
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'discord.messages_skipped')
    assert.deepEqual(logged.map(({ channel, fetched, limit }) => [channel, fetched, limit])[0], [dm.id, 120, 120])
  })

  test('a channel without earlier messages to the bot is not told about skipped messages', async (t) => {
    const { discord, gateway, adapter, ada, dm, mention, createAnother } = await startDiscordTest(t, {
      catchUpLimit: 5,
    })
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    await adapter.disconnect()
    for (let number = 1; number <= 10; number += 1) discord.say(ada, discord.general, 'between people')
    discord.say(ada, discord.general, `${mention} hello`)
    await createAnother().connect(neverAborted)
    await waitForEvent(gateway, 'hello')
    discord.say(ada, dm, 'after')
    await waitForEvent(gateway, 'after')
    assert.equal(discord.sent(discord.general.id).length, 0)
  })

  test('a message in a new thread of the bot is found, although a later one elsewhere was stored', async (t) => {
    let now = Date.now() - 7_200_000
    const on = await startDiscordTest(t, { connect: false, server: { now: () => now } })
    const { discord, gateway, adapter, ada, dm } = on
    const thread = discord.world.thread(discord.general, 'Gears', discord.bot.user)
    discord.say(ada, thread, 'never stored')
    now = Date.now()
    // An earlier process stored this message, and was killed before it stored the one in the thread.
    gateway.marks.set(dm.id, discord.say(ada, dm, 'stored').id)
    await adapter.connect(neverAborted)
    await waitForEvent(gateway, 'never stored')
  })

  test('a message in a channel is found that another one overtook before the process was killed', async (t) => {
    const { discord, gateway, adapter, ada, mention } = await startDiscordTest(t, { connect: false })
    discord.say(ada, discord.general, `${mention} overtaken`)
    gateway.marks.set(discord.general.id, discord.say(ada, discord.general, `${mention} stored`).id)
    await adapter.connect(neverAborted)
    await waitForEvent(gateway, 'overtaken')
  })

  test('a session that ends before its missed messages are known leaves them to the next session', async (t) => {
    let now = Date.now() - 7_200_000
    const on = await startDiscordTest(t, { connect: false, server: { now: () => now } })
    const { discord, gateway, adapter, ada, dm } = on
    const eve = discord.person('Eve')
    gateway.marks.set(dm.id, discord.say(ada, dm, 'stored').id)
    discord.say(ada, dm, 'missed')
    now = Date.now()
    const release = discord.gateway.holdGuild()
    await adapter.connect(neverAborted)
    discord.say(eve, discord.dm(eve), 'live')
    await until(() => gateway.attempts() > 0 || gateway.received() > 3, gateway)
    discord.gateway.forgetSessions()
    discord.gateway.invalidate(false)
    await until(() => discord.gateway.counts.identified === 2, discord)
    release()
    await waitForEvent(gateway, 'missed')
  })

  test('the channels of a server that becomes available late are read then', async (t) => {
    const { discord, gateway, adapter, ada, dm, mention } = await startDiscordTest(t, { connect: false })
    gateway.marks.set(dm.id, discord.say(ada, dm, 'stored').id)
    discord.say(ada, discord.general, `${mention} missed`)
    discord.say(ada, dm, 'in the direct chat')
    const release = discord.gateway.holdGuild()
    await adapter.connect(neverAborted)
    // The servers are no longer waited for.
    await waitForEvent(gateway, 'in the direct chat')
    release()
    await waitForEvent(gateway, 'missed')
  })

  test('messages older than a day are not fetched', async (t) => {
    const { discord, gateway, adapter, ada, dm, createAnother } = await startDiscordTest(t, {
      clock: () => Date.now() + 25 * 3_600_000,
    })
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    await adapter.disconnect()
    discord.say(ada, dm, 'yesterday')
    await createAnother().connect(neverAborted)
    await until(() => discord.faults.calls('GET /channels/:id/messages') === 1, discord)
    discord.say(ada, dm, 'today')
    await waitForEvent(gateway, 'today')
    assert.deepEqual(acceptedTexts(gateway), ['before', 'today'])
  })

  test('a deleted or inaccessible chat does not prevent reading the others', async (t) => {
    const { discord, gateway, adapter, ada, dm, createAnother } = await startDiscordTest(t)
    const eve = discord.person('Eve')
    const deletedDm = discord.dm(eve)
    for (const chat of [deletedDm, dm]) discord.say(chat === dm ? ada : eve, chat, 'before')
    await until(() => acceptedTexts(gateway).length === 2, gateway)
    await adapter.disconnect()
    discord.world.channels.delete(deletedDm.id)
    discord.say(ada, dm, 'meanwhile')
    await createAnother().connect(neverAborted)
    await waitForEvent(gateway, 'meanwhile')
  })

  test('a history that cannot be read is read again after growing pauses', async (t) => {
    const { discord, gateway, adapter, ada, dm, createAnother } = await startDiscordTest(t)
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    await adapter.disconnect()
    discord.say(ada, dm, 'meanwhile')
    discord.faults.respond('GET /channels/:id/messages', { status: 502, body: 'bad gateway' })
    discord.faults.reset('GET /channels/:id/messages')
    const window = discord.faults.limit({ on: 'GET /channels/:id/messages', ms: 300 })
    await createAnother().connect(neverAborted)
    await waitForEvent(gateway, 'meanwhile')
    assert.equal(discord.faults.earlyCalls(), 0)
    assert.ok(window.isOver())
  })

  test('a fetched message carries the roles of its author when roles authorize users', async (t) => {
    const options = { allowed_roles: ['1180000000000000031'] }
    const { discord, gateway, adapter, ada, mention, createAnother } = await startDiscordTest(t, { options })
    const thread = discord.world.thread(discord.general, 'Gears', discord.bot.user)
    discord.world.memberRoles.set(ada.id, ['1180000000000000031'])
    discord.say(ada, thread, `${mention} before`)
    await waitForEvent(gateway, 'before')
    await adapter.disconnect()
    discord.say(ada, thread, 'meanwhile')
    await createAnother().connect(neverAborted)
    const { event } = await waitForEvent(gateway, 'meanwhile')
    assert.equal(event.source.roleAuthorized, true)
  })

  test('a message that cannot be stored is retried, and its chat waits', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    for (const _ of ['first', 'again']) {
      gateway.failNextAccept(new HermesError('store/full'))
      const attempt = gateway.nextAttempt()
      if (acceptedTexts(gateway).length === 0 && gateway.attempts() === 0) {
        discord.say(ada, dm, 'one')
        discord.say(ada, dm, 'two')
      }
      await attempt
    }
    await waitForEvent(gateway, 'two')
    assert.deepEqual(acceptedTexts(gateway), ['one', 'two'])
  })

  test('an event that arrives twice is ingested once, also when fetched', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    discord.say(ada, dm, 'once')
    await waitForEvent(gateway, 'once')
    discord.gateway.repeatLast('MESSAGE_CREATE')
    await until(() => gateway.ingestedEvents.length === 2, gateway)
    assert.deepEqual(
      gateway.ingestedEvents.map(({ accepted }) => accepted.status),
      ['accepted', 'duplicate'],
    )
  })

  test('a late message that was lost in an outage is found, although a newer one was ingested', async (t) => {
    const on = await startDiscordTest(t)
    const { discord, gateway, ada, dm } = on
    const late = discord.world.post(dm, ada, { content: 'late' })
    discord.say(ada, dm, 'in time')
    await waitForEvent(gateway, 'in time')
    await simulateOutage(on, () => discord.gateway.dispatchMessage('MESSAGE_CREATE', late))
    await waitForEvent(gateway, 'late')
    assert.deepEqual(acceptedTexts(gateway), ['in time', 'late'])
  })

  test('events that arrive out of order are all ingested', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    const early = discord.world.post(dm, ada, { content: 'one' })
    const late = discord.world.post(dm, ada, { content: 'two' })
    discord.gateway.dispatchMessage('MESSAGE_CREATE', late)
    discord.gateway.dispatchMessage('MESSAGE_CREATE', early)
    await waitForEvent(gateway, 'one')
    assert.deepEqual(acceptedTexts(gateway), ['two', 'one'])
  })

  test('the author of a too large message is told within the rate limit, and the next message does not wait for it', async (t) => {
    const turn = Promise.withResolvers<void>()
    const asked: Target[] = []
    const { discord, gateway, ada, dm } = await startDiscordTest(t, {
      async rateLimited(target, signal, call) {
        asked.push(target)
        await turn.promise
        return await call(signal)
      },
    })
    gateway.failNextAccept(new HermesError('inbox/too-large'))
    const { id } = discord.say(ada, dm, 'far too much')
    discord.say(ada, dm, 'small')
    await waitForEvent(gateway, 'small')
    assert.deepEqual(
      asked.map(({ chatId }) => chatId),
      [dm.id],
    )
    assert.equal(discord.sent(dm.id).length, 0)
    turn.resolve()
    await discord.until((message) => message.message_reference?.['message_id'] === id)
  })

  test('an edit that is too large leaves the message unchanged, and its chat continues', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    const said = discord.say(ada, dm, 'small')
    await waitForEvent(gateway, 'small')
    gateway.failNextAccept(new HermesError('inbox/too-large'))
    discord.edit(said, 'large')
    discord.say(ada, dm, 'next')
    await waitForEvent(gateway, 'next')
    assert.deepEqual(gateway.changes, [])
  })
})
