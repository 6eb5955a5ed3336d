/**
 * Messages that were written while the gateway was not connected.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catchUpTargetsOf } from '../../../../platforms/slack/inbound/catch-up.ts'
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

test('catch-up reads the newest fifty messages of a busy chat', async (t) => {
  const { say, nextLife, waitForAccepted, gateway } = await afterRestart(t)
  for (let at = 0; at < 80; at += 1) say(direct, `message ${at}`)
  await nextLife()
  await waitForAccepted(52)
  const [, , ...missed] = acceptedEvents(gateway)
  assert.equal(missed.length, 50)
  assert.deepEqual([missed[0], missed.at(-1)], ['message 30', 'message 79'])
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

test('live messages do not move the cursor during catch-up', async (t) => {
  const { server, say, nextLife, gateway } = await afterRestart(t)
  say(direct, 'missed')
  const mark = gateway.marks.get(direct)
  const release = server.faults.hold('conversations.history')
  await nextLife()
  await server.say(direct, ada, 'live')
  assert.equal(gateway.marks.get(direct), mark)
  release()
  await server.until(() => (acceptedEvents(gateway).includes('missed') ? true : undefined), 10)
  await server.say(direct, ada, 'later')
  assert.notEqual(gateway.marks.get(direct), mark)
})

test('messages that could not be stored are fetched again', { timeout: 20_000 }, async (t) => {
  const { say, nextLife, gateway, server } = await afterRestart(t)
  say(direct, 'one')
  gateway.failNextAccept(new HermesError('store/full'))
  const attempts = gateway.attempts()
  await nextLife()
  await server.until(() => (gateway.attempts() > attempts ? true : undefined), 10)
  await server.until(() => gateway.logLines.find((line) => matchesLogLine(line, { event: 'slack.catch_up_failed' })))
  assert.equal(gateway.marks.get(direct)?.includes('.'), true)
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

test('catch-up targets are channels and threads at their cursors, newest first', () => {
  const marks = new Map([
    ['C1', '0000000100.000000'],
    ['C1:0000000150.000000', '0000000200.000000'],
    ['C2:0000000050.000000', '0000000300.000000'],
    ['broken', 'not a number'],
    ['', '0000000900.000000'],
  ])
  assert.deepEqual(catchUpTargetsOf(marks), [
    { channel: 'C2', since: 300 },
    { channel: 'C1', since: 200 },
    { channel: 'C2', threadTs: '0000000050.000000', since: 300 },
    { channel: 'C1', threadTs: '0000000150.000000', since: 200 },
  ])
  const many = new Map(Array.from({ length: 100 }, (_, at) => [`C${at}:1.0`, `${at}.0`]))
  assert.equal(catchUpTargetsOf(many).length, 20)
})
