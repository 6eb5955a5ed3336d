/**
 * Messages that were written while the gateway was not connected.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catchUpTargetsOf } from '../../../../platforms/slack/inbound/catch-up-targets.ts'
import { errorCatalogue } from '../../../../src/lib/error-catalogue.ts'
import { HermesError } from '../../../../src/lib/errors.ts'
import { matchesLogLine } from '../../../kit/log-matcher.ts'
import type { RecordingContext } from '../../../kit/recording-context.ts'
import { ada, bob, channel, direct, neverAborted, startSlackTest } from '../support.ts'

const mention = '<@U0BOT0001>'

function acceptedEvents({ ingestedEvents }: RecordingContext): string[] {
  return ingestedEvents.filter(({ accepted: { status } }) => status === 'accepted').map(({ event }) => event.text)
}

/** A life that has read something; then the adapter is down. */
async function afterRestart(...given: Parameters<typeof startSlackTest>) {
  const all = await startSlackTest(given[0], {
    ...given[1],
    server: { maxTries: 0, redeliverMs: 60_000, ...given[1]?.server },
  })
  const { server, gateway, adapter } = all
  await server.say(direct, ada, 'before')
  const { ts: thread } = await server.say(channel, ada, `${mention} thread`)
  await adapter.disconnect()
  const say = (chat: string, text: string, more = {}) => void server.say(chat, ada, text, more)
  const nextLife = async () => {
    server.delivery.forget()
    const next = all.createAnother()
    await next.connect(neverAborted)
  }
  const waitForAccepted = (count: number) =>
    server.until(() => (acceptedEvents(gateway).length >= count ? true : undefined), 10)
  return { ...all, thread, say, nextLife, waitForAccepted }
}

test('catch-up continues each chat and thread at its cursor, oldest message first', async (t) => {
  const { say, nextLife, waitForAccepted, gateway, thread } = await afterRestart(t)
  say(direct, 'one')
  say(direct, 'two')
  say(channel, 'three, without a mention', { thread_ts: thread })
  say(channel, `${mention} four`)
  say(channel, 'not for the bot')
  await nextLife()
  await waitForAccepted(6)
  const [, , ...missed] = acceptedEvents(gateway)
  assert.deepEqual(missed.toSorted(), ['four', 'one', 'three, without a mention', 'two'])
  assert.ok(missed.indexOf('one') < missed.indexOf('two'))
})

test('catch-up includes threads that started during the outage', async (t) => {
  const { server, say, nextLife, waitForAccepted, gateway } = await afterRestart(t)
  const { ts } = server.workspace.post(channel, { user: ada, text: `${mention} a new question`, subtype: 'hidden' })
  const root = server.workspace.find(channel, ts)
  assert.ok(root)
  Reflect.deleteProperty(root, 'subtype')
  say(channel, 'and one more thing', { thread_ts: ts })
  await nextLife()
  await waitForAccepted(4)
  assert.deepEqual(acceptedEvents(gateway).slice(2), ['a new question', 'and one more thing'])
})

test('catch-up accepts a missed edit of a known message, but not the message again', async (t) => {
  const { server, nextLife, gateway, waitForAccepted, say } = await afterRestart(t)
  const [before] = server.workspace.channel(direct)?.messages ?? []
  assert.ok(before)
  server.workspace.edit(direct, before.ts, { text: 'before, edited' }, ada)
  say(direct, 'after')
  await nextLife()
  await waitForAccepted(3)
  assert.deepEqual(acceptedEvents(gateway), ['before', 'thread', 'after'])
  const [change] = gateway.changes
  assert.ok(change?.kind === 'edited' && change.event.text === 'before, edited', JSON.stringify(gateway.changes))
})

test('several hundred missed messages are read page by page, in order', async (t) => {
  const { say, nextLife, waitForAccepted, gateway, server, thread } = await afterRestart(t)
  const texts = Array.from({ length: 450 }, (_, at) => `message ${at}`)
  for (const text of texts) say(direct, text)
  for (let at = 0; at < 250; at += 1) say(channel, `reply ${at}`, { thread_ts: thread })
  await nextLife()
  await waitForAccepted(702)
  const missed = gateway.ingestedEvents.filter(({ accepted: { status } }) => status === 'accepted').slice(2)
  const inDirect = missed.filter(({ event }) => event.source.chatId === direct)
  assert.deepEqual(
    inDirect.map(({ event }) => event.text),
    texts,
  )
  const inThread = missed.filter(({ event }) => event.source.chatId === channel).map(({ event }) => event.text)
  assert.deepEqual([inThread.length, inThread[0], inThread.at(-1)], [250, 'reply 0', 'reply 249'])
  assert.equal(server.posts(direct).length, 0)
})

test('messages beyond catch_up.max are skipped, logged with counts and reported where they were written', async (t) => {
  const { say, nextLife, waitForAccepted, gateway, server } = await afterRestart(t, { catchUpLimit: 10 })
  for (let at = 0; at < 25; at += 1) say(direct, `message ${at}`)
  for (let at = 0; at < 300; at += 1) say(channel, `not for the bot ${at}`)
  say(channel, `${mention} for the bot`)
  await nextLife()
  await waitForAccepted(13)
  const texts = acceptedEvents(gateway).slice(2)
  assert.deepEqual(
    texts.filter((text) => text.startsWith('message')),
    Array.from({ length: 10 }, (_, at) => `message ${at + 15}`),
  )
  assert.ok(texts.includes('for the bot'))
  await server.until(() => (server.posts(direct).length === 1 ? true : undefined), 10)
  // Messages that the bot would not handle do not count.
  assert.equal(server.posts(channel).length, 0)
  const lines = gateway.logLines.filter((line) => line.includes('slack.missed_messages_skipped'))
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)).map(({ channel: place, read, skipped }) => ({ place, read, skipped })),
    [{ place: direct, read: 10, skipped: 15 }],
  )
})

test('a failed history call is repeated at the same page until Slack answers', async (t) => {
  const { say, nextLife, waitForAccepted, gateway, server } = await afterRestart(t)
  for (let at = 0; at < 250; at += 1) say(direct, `message ${at}`)
  server.faults.respond('conversations.history', { status: 503, body: 'upstream connect error' }, 3)
  server.faults.dropResponse('conversations.history', 2)
  await nextLife()
  await waitForAccepted(252)
  assert.deepEqual(
    acceptedEvents(gateway).slice(2),
    Array.from({ length: 250 }, (_, at) => `message ${at}`),
  )
})

test('live messages wait until the missed messages of their place are stored', async (t) => {
  const { say, nextLife, waitForAccepted, gateway, server } = await afterRestart(t)
  say(direct, 'missed')
  const mark = gateway.marks.get(direct)
  server.workspace.addChannel('D0BOB00001', 'im')
  const release = server.faults.hold(({ method, chat }) => method === 'conversations.history' && chat === direct)
  await nextLife()
  const live = server.say(direct, ada, 'live')
  // A chat without missed messages does not wait.
  assert.equal((await server.say('D0BOB00001', bob, 'elsewhere')).acknowledged, true)
  assert.deepEqual(acceptedEvents(gateway).slice(2), ['elsewhere'])
  assert.equal(gateway.marks.get(direct), mark)
  release()
  assert.equal((await live).acknowledged, true)
  await waitForAccepted(5)
  assert.deepEqual(acceptedEvents(gateway).slice(3), ['missed', 'live'])
})

test('live messages wait from the moment the connection is lost', async (t) => {
  const { server, gateway } = await startSlackTest(t, { server: { maxTries: 0, redeliverMs: 60_000 } })
  await server.say(direct, ada, 'before')
  server.faults.startOutage('cut')
  await server.until(() => (server.delivery.sockets() === 0 ? true : undefined), 5)
  const missed = server.say(direct, ada, 'missed')
  server.delivery.forget()
  const release = server.faults.hold('conversations.history')
  await server.faults.endOutage()
  await server.socketsOpen(1)
  const live = server.say(direct, ada, 'live')
  await server.until(() => (server.faults.calls('conversations.history') > 0 ? true : undefined), 5)
  assert.deepEqual(acceptedEvents(gateway), ['before'])
  release()
  await Promise.all([missed, live])
  await server.until(() => (acceptedEvents(gateway).length === 3 ? true : undefined), 5)
  assert.deepEqual(acceptedEvents(gateway), ['before', 'missed', 'live'])
})

test('a live message that could not be stored is fetched before later ones are accepted', async (t) => {
  const { server, gateway } = await startSlackTest(t, { server: { maxTries: 0 } })
  await server.say(direct, ada, 'before')
  gateway.failNextAccept(new HermesError('store/full'))
  assert.equal((await server.say(direct, ada, 'not stored')).acknowledged, false)
  await server.say(direct, ada, 'after')
  assert.deepEqual(acceptedEvents(gateway), ['before', 'not stored', 'after'])
})

test('catch-up skips messages older than a day', async (t) => {
  let now = Date.now()
  const { server, say, nextLife, waitForAccepted, gateway } = await afterRestart(t, { clock: () => now })
  say(direct, 'long ago')
  now += 25 * 3_600_000
  server.workspace.post(direct, { user: ada, text: 'just now', ts: `${Math.floor(now / 1_000)}.000100` })
  await nextLife()
  await waitForAccepted(3)
  assert.deepEqual(acceptedEvents(gateway).slice(2), ['just now'])
})

test('the app works without the scope to read history', async (t) => {
  const { server, say, nextLife, gateway } = await afterRestart(t)
  say(direct, 'unread')
  server.scopes.delete('im:history')
  server.scopes.delete('channels:history')
  await nextLife()
  assert.equal((await server.say(direct, bob, 'live')).acknowledged, true)
  assert.deepEqual(acceptedEvents(gateway).slice(2), ['live'])
})

test('catch-up waits for a rate limit and loses no message', async (t) => {
  const { server, say, nextLife, waitForAccepted } = await afterRestart(t)
  say(direct, 'one')
  const window = server.faults.limit({ on: 'conversations.history', ms: 1_000 })
  await nextLife()
  await waitForAccepted(3)
  assert.equal(window.earlyCalls(), 0)
  assert.ok(window.refused() >= 1)
})

test('a missed message that could not be stored is tried again before the following ones', async (t) => {
  const { say, nextLife, waitForAccepted, gateway } = await afterRestart(t)
  say(direct, 'one')
  say(direct, 'two')
  gateway.failNextAccept(new HermesError('store/full'))
  await nextLife()
  await waitForAccepted(4)
  assert.deepEqual(acceptedEvents(gateway).slice(2), ['one', 'two'])
  assert.ok(gateway.logLines.find((line) => matchesLogLine(line, { event: 'slack.missed_message_not_stored' })))
})

test('a message that is too large is skipped, and its author is notified', async (t) => {
  const { say, nextLife, waitForAccepted, gateway, server } = await afterRestart(t)
  say(direct, 'too much')
  say(direct, 'small')
  gateway.failNextAccept(new HermesError('inbox/too-large'))
  // The overlap brings what was read before once more: that is the one that is refused here.
  await nextLife()
  await waitForAccepted(3)
  await server.until(() =>
    server.ephemerals.find(({ text }) => String(text).includes(errorCatalogue['inbox/too-large'].meaning)),
  )
  assert.ok(!gateway.logLines.join('').includes('slack.catch_up_failed'))
})

test('a message that cannot be accepted is skipped, and the following ones are read', async (t) => {
  const { say, nextLife, waitForAccepted, gateway } = await afterRestart(t)
  say(direct, 'behind it')
  say(channel, `${mention} elsewhere`)
  gateway.failNextAccept(new TypeError('an unexpected shape'))
  await nextLife()
  await waitForAccepted(4)
  assert.deepEqual(acceptedEvents(gateway).slice(2).toSorted(), ['behind it', 'elsewhere'])
  const lines = gateway.logLines.filter((line) => line.includes('an unexpected shape'))
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /slack\.message_skipped/)
  assert.ok(!gateway.logLines.join('').includes('slack.catch_up_failed'))
})

test('a missed edit that is too large does not block later messages', async (t) => {
  const { server, say, nextLife, waitForAccepted, gateway } = await afterRestart(t)
  const [before] = server.workspace.channel(direct)?.messages ?? []
  assert.ok(before)
  server.workspace.edit(direct, before.ts, { text: 'far too much' }, ada)
  say(direct, 'after')
  // The message is known, its edit is not.
  const known = gateway.nextEvent().then(() => gateway.failNextAccept(new HermesError('inbox/too-large')))
  await nextLife()
  await known
  await waitForAccepted(3)
  assert.deepEqual(gateway.changes, [])
  assert.ok(!gateway.logLines.join('').includes('slack.catch_up_failed'))
})

test('catch-up targets are channels and threads, newest first', () => {
  const marks = new Map([
    ['C1', '0000000100.000000'],
    ['C1:0000000150.000000', '0000000200.000000'],
    ['C2:0000000050.000000', '0000000300.000000'],
    ['broken', 'not a number'],
    ['', '0000000900.000000'],
  ])
  // The replies in a thread say nothing about the messages of its channel.
  assert.deepEqual(catchUpTargetsOf(marks), [
    { channel: 'C1', since: 150 },
    { channel: 'C2', since: 50 },
    { channel: 'C2', threadTs: '0000000050.000000', since: 300 },
    { channel: 'C1', threadTs: '0000000150.000000', since: 200 },
  ])
  const many = new Map(Array.from({ length: 300 }, (_, at) => [`C${at}:1.0`, `${at}.0`]))
  assert.equal(catchUpTargetsOf(many).length, 200)
})
