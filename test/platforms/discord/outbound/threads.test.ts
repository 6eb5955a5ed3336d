/**
 * Threads: opened with the first reply, found again after a restart, and replaced by the channel where the bot may not open one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { threadName } from '../../../../platforms/discord/outbound/threads.ts'
import { targetOf } from '../../../../src/message/source.ts'
import { sessionKeyOf } from '../../../../src/sessions/session-key.ts'
import { messageTo, neverAborted, startDiscordTest, until, waitForEvent } from '../support.ts'

const noPermission = { groupSessionsPerUser: true, threadSessionsPerUser: false, scoped: false }
const start = 'POST /channels/:id/messages/:id/threads'

test('a mention in a channel is answered in a thread, and messages there belong to the same session', async (t) => {
  const { discord, gateway, adapter, ada, mention } = await startDiscordTest(t)
  const { id } = discord.say(ada, discord.general, `${mention} how do I oil the *gear*?`)
  const first = (await waitForEvent(gateway, 'how do I oil the *gear*?')).event.source
  assert.equal(discord.world.channels.has(id), false)
  const sent = await adapter.send(messageTo(targetOf(first), 'With walnut oil.', { replyTo: id }), neverAborted)
  assert.equal(sent.success, true)
  const thread = discord.world.channels.get(id)
  assert.equal(thread?.name, 'how do I oil the gear?')
  assert.deepEqual(
    discord.sent().map(({ channel_id, content }) => [channel_id, content]),
    [[id, 'With walnut oil.']],
  )
  assert.ok(thread)
  discord.say(discord.person('Eve'), thread, 'How often?')
  const later = (await waitForEvent(gateway, 'How often?')).event.source
  assert.deepEqual(targetOf(later), targetOf(first))
  assert.equal(sessionKeyOf(later, noPermission), sessionKeyOf(first, noPermission))
})

test('a thread that was not opened before a restart is opened after it', async (t) => {
  const { discord, gateway, adapter, ada, mention, createAnother } = await startDiscordTest(t)
  const { id } = discord.say(ada, discord.general, `${mention} what now?`)
  const target = targetOf((await waitForEvent(gateway, 'what now?')).event.source)
  await adapter.disconnect()
  const next = createAnother()
  await next.connect(neverAborted)
  assert.equal((await next.send(messageTo(target, 'This.'), neverAborted)).success, true)
  assert.deepEqual([discord.world.channels.get(id)?.name, discord.sent(id).length], ['what now?', 1])
})

test('a thread that a user opened meanwhile is used', async (t) => {
  const { discord, gateway, adapter, ada, mention } = await startDiscordTest(t)
  const { id } = discord.say(ada, discord.general, `${mention} what now?`)
  const target = targetOf((await waitForEvent(gateway, 'what now?')).event.source)
  discord.world.thread(discord.general, 'Opened by Ada', ada, id)
  assert.equal((await adapter.send(messageTo(target, 'This.'), neverAborted)).success, true)
  assert.equal(discord.sent(id).length, 1)
})

for (const life of ['the same life', 'the next life']) {
  test(`where the bot may not open threads, in ${life} the reply goes to the channel, and can be edited`, async (t) => {
    const { discord, gateway, adapter, ada, mention, createAnother } = await startDiscordTest(t)
    const { id } = discord.say(ada, discord.general, `${mention} what now?`)
    const target = targetOf((await waitForEvent(gateway, 'what now?')).event.source)
    discord.faults.respond(start, { status: 403, body: { message: 'Missing Permissions', code: 50013 } }, 100)
    const last = life === 'the same life' ? adapter : createAnother()
    if (last !== adapter) {
      await adapter.disconnect()
      await last.connect(neverAborted)
    }
    const sent = await last.send(messageTo(target, 'Thi', { replyTo: id }), neverAborted)
    assert.ok(sent.success && sent.messageId !== undefined)
    assert.equal((await last.edit?.(sent.messageId, messageTo(target, 'This.'), true, neverAborted))?.success, true)
    const [shown] = discord.sent(discord.general.id)
    assert.deepEqual([shown?.content, shown?.message_reference?.['message_id']], ['This.', id])
    await until(() => gateway.logLines.some((line) => line.includes('discord.thread_refused')), gateway)
  })
}

test('a reply to a deleted thread is rejected and does not go to its channel', async (t) => {
  const { discord, gateway, adapter, ada } = await startDiscordTest(t)
  const thread = discord.world.thread(discord.general, 'Gears', discord.bot.user)
  discord.gateway.dispatch(discord.bot, 'THREAD_CREATE', discord.world.shownChannel(thread, discord.bot.user), 1)
  discord.say(ada, thread, 'hello')
  const target = targetOf((await waitForEvent(gateway, 'hello')).event.source)
  discord.world.channels.delete(thread.id)
  const result = await adapter.send(messageTo(target, 'Hello.'), neverAborted)
  assert.ok(!result.success)
  assert.equal(result.problem, 'rejected')
  assert.deepEqual(discord.sent(), [])
})

test('when the message was deleted before its thread opened, the reply goes to the channel', async (t) => {
  const { discord, gateway, adapter, ada, mention } = await startDiscordTest(t)
  const asked = discord.say(ada, discord.general, `${mention} what now?`)
  const target = targetOf((await waitForEvent(gateway, 'what now?')).event.source)
  discord.remove(asked)
  assert.equal((await adapter.send(messageTo(target, 'This.', { replyTo: asked.id }), neverAborted)).success, true)
  assert.equal(discord.sent(discord.general.id).length, 1)
})

test('an outage while a thread is opened is a temporary failure, and the next attempt opens it', async (t) => {
  const { discord, gateway, adapter, ada, mention } = await startDiscordTest(t)
  const { id } = discord.say(ada, discord.general, `${mention} what now?`)
  const target = targetOf((await waitForEvent(gateway, 'what now?')).event.source)
  discord.faults.reset(start)
  const message = messageTo(target, 'This.')
  const result = await adapter.send(message, neverAborted)
  assert.ok(!result.success && result.problem === 'temporary')
  assert.equal((await adapter.send(message, neverAborted)).success, true)
  assert.equal(discord.sent(id).length, 1)
})

test('an unknown thread is fetched once', async (t) => {
  const { discord, gateway, ada, mention } = await startDiscordTest(t)
  const thread = discord.world.thread(discord.general, 'Old', ada)
  for (const text of ['one', 'two']) {
    discord.say(ada, thread, `${mention} ${text}`)
    const { source } = (await waitForEvent(gateway, text)).event
    assert.deepEqual([source.chatId, source.threadId, source.chatName], [discord.general.id, thread.id, 'Old'])
  }
  assert.equal(discord.faults.calls('GET /channels/:id'), 1)
})

test('a thread is named after the first words of its message', () => {
  assert.equal(threadName('\n  **How** do I\nthis?'), 'How do I')
  assert.equal(threadName('<@1181000000000000001> `x` of <#1180000000000000010>'), 'x of')
  assert.equal(threadName('a'.repeat(200)).length, 100)
  assert.equal(threadName('<@1181000000000000001>'), 'Conversation')
  assert.equal(threadName(`${'😀'.repeat(60)}`).length <= 100, true)
})
