/**
 * End to end: a user writes in Slack, and the gateway replies there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixedReplies } from '../../../platforms/slack/inbound/ingest.ts'
import { displayed, startSlackServer } from '../../kit/servers/slack/slack-server.ts'
import { createHeldCommand, terminalCall } from '../../stories/support.ts'
import { createGate } from './gate.ts'
import { mention, startSlackGateway } from './gateway-support.ts'
import { ada, bob, channel, direct, populateWorkspace, tokensOf } from './support.ts'

const words = 'The quick brown fox jumps over the lazy dog.'
const streaming = { streaming: { buffer_threshold: 4, edit_interval: 0 } }

test('a direct message is answered in the direct chat', async (t) => {
  const { server, shown } = await startSlackGateway(t, { replies: [{ text: 'Hello Ada.' }] })
  const { acknowledged } = await server.say(direct, ada, 'Hello')
  assert.equal(acknowledged, true)
  assert.equal((await shown(direct, 'Hello Ada.')).thread_ts, undefined)
})

test('a mention in a channel is answered in a thread that is one conversation', async (t) => {
  const { server, gateway, shown } = await startSlackGateway(t, {
    replies: [{ text: 'First.' }, { text: 'Second.' }, { text: 'Other.' }],
  })
  const { ts } = await server.say(channel, ada, `${mention} first question`)
  assert.equal((await shown(channel, 'First.')).thread_ts, ts)
  // Without a mention and by another user, because the thread is shared.
  await server.say(channel, bob, 'second question', { thread_ts: ts })
  assert.equal((await shown(channel, 'Second.')).thread_ts, ts)
  assert.match(JSON.stringify((await gateway.modelRequest(1)).body), /first question.*First\..*second question/s)
  // Another mention is another conversation.
  await server.say(channel, ada, `${mention} third question`)
  await shown(channel, 'Other.')
  assert.doesNotMatch(JSON.stringify((await gateway.modelRequest(2)).body), /first question/)
  assert.equal(gateway.model.requestCount, 3)
})

test('in a thread of Slack the tools are shown between the question and the answer', async (t) => {
  const { server, gateway, shown } = await startSlackGateway(t, { config: { display: { tool_progress: 'all' } } })
  const held = createHeldCommand(gateway.home)
  gateway.model.enqueue(terminalCall(held.command), { text: 'It works.' })
  const { ts } = await server.say(channel, ada, `${mention} check it`)
  await shown(channel, /^⏳/)
  await held.release()
  assert.equal((await shown(channel, 'It works.')).thread_ts, ts)
  const ended = await shown(channel, /^✓/)
  assert.match(displayed(ended), /terminal.*cat/)
  assert.equal(ended.thread_ts, ts)
  assert.equal(server.posts(channel).length, 2)
})

test('after a restart a thread continues without a mention', async (t) => {
  const { server, gateway, shown } = await startSlackGateway(t, { replies: [{ text: 'First.' }, { text: 'Second.' }] })
  const { ts } = await server.say(channel, ada, `${mention} first question`)
  await shown(channel, 'First.')
  await gateway.waitForEvent('agent:end')
  await gateway.stop()
  await (await gateway.start()).initialConnectsDone()
  await server.say(channel, ada, 'second question', { thread_ts: ts })
  assert.equal((await shown(channel, 'Second.')).thread_ts, ts)
})

test('a mention inside a thread includes the earlier messages of the thread', async (t) => {
  const { server, gateway, shown } = await startSlackGateway(t, { replies: [{ text: 'It is red.' }] })
  const { ts } = await server.say(channel, bob, 'The build of today is broken')
  await server.say(channel, ada, 'which one?', { thread_ts: ts })
  await server.say(channel, ada, `${mention} what do you think?`, { thread_ts: ts })
  assert.equal((await shown(channel, 'It is red.')).thread_ts, ts)
  const asked = JSON.stringify((await gateway.modelRequest(0)).body)
  assert.match(asked, /The build of today is broken.*which one\?.*what do you think\?/s)
})

test('commands work as !status in a chat and as /hermes status', async (t) => {
  const { server, shown } = await startSlackGateway(t)
  await server.say(direct, ada, '!status')
  await shown(direct, /platforms?/i)
  const answer = await server.slash(direct, ada, 'whoami')
  assert.ok(answer.acknowledged)
  assert.equal(answer.payload['response_type'], 'ephemeral')
  await shown(direct, /U0ADA00001/)
})

test('a user who is not allowed gets no answer, except to the slash command', async (t) => {
  const { server, gateway, said } = await startSlackGateway(t, { slack: { allow_from: [ada] } })
  assert.equal((await server.say(channel, bob, `${mention} let me in`)).acknowledged, true)
  const answer = await server.slash(channel, bob, 'status')
  assert.ok(JSON.stringify(answer).includes(fixedReplies.notAllowed))
  assert.deepEqual(said(channel), [])
  assert.equal(gateway.model.requestCount, 0)
})

test('with streams a reply in a thread grows into its final message', async (t) => {
  const gate = createGate()
  const { server, shown, said } = await startSlackGateway(t, {
    server: { streaming: 'everywhere' },
    config: streaming,
    replies: [{ text: words, gate: gate.hold(6) }],
  })
  const { ts } = await server.say(channel, ada, `${mention} tell me`)
  const growing = await shown(channel, /^The quick/)
  assert.equal(growing.streaming_state, 'in_progress')
  assert.equal(growing.thread_ts, ts)
  gate.open()
  const done = await shown(channel, words)
  await server.until(() => (done.streaming_state === 'completed' ? true : undefined))
  assert.deepEqual(said(channel), [words])
  assert.equal(server.faults.calls('chat.postMessage'), 0)
  assert.equal(server.faults.calls('chat.update'), 0)
})

test('without streams a reply grows by edits, with a cursor until it is done', async (t) => {
  const gate = createGate()
  const { server, shown, said } = await startSlackGateway(t, {
    config: streaming,
    replies: [{ text: words, gate: gate.hold(6) }, { text: words }],
  })
  await server.say(channel, ada, `${mention} tell me`)
  await shown(channel, /^The quick.* ▉$/)
  gate.open()
  await shown(channel, words)
  await server.say(channel, ada, `${mention} again`)
  await server.until(() => (said(channel).filter((text) => text === words).length === 2 ? true : undefined))
  // It was asked once and said no.
  assert.equal(server.faults.calls('chat.startStream'), 1)
})

for (const offered of ['no', 'everywhere'] as const) {
  test(`a draft whose response was lost becomes the reply (streams: ${offered})`, async (t) => {
    const gate = createGate()
    const { server, shown, said } = await startSlackGateway(t, {
      server: { streaming: offered },
      // No further update of the draft follows.
      config: { streaming: { buffer_threshold: 4, edit_interval: 3_600 } },
      replies: [{ text: words, gate: gate.hold(6) }],
    })
    server.faults.dropResponse(offered === 'no' ? 'chat.postMessage' : 'chat.startStream')
    await server.say(channel, ada, `${mention} tell me`)
    await server.until(() => (said(channel).length > 0 ? true : undefined))
    gate.open()
    await shown(channel, words)
    assert.deepEqual(said(channel), [words])
  })
}

test('a reply whose stream was open at a stop is completed in the same message', async (t) => {
  const { server, gateway, shown, said } = await startSlackGateway(t, {
    server: { streaming: 'everywhere' },
    config: streaming,
    replies: [{ text: words, hang: 'stream', hangAfter: 6 }, { text: words }],
  })
  await server.say(channel, ada, `${mention} tell me`)
  await shown(channel, /^The quick/)
  await gateway.stop(AbortSignal.abort())
  await gateway.start()
  await gateway.waitForLog('outbox.delivered')
  assert.deepEqual(said(channel), [words])
})

test('messages written during an outage of Slack are answered once and in order', async (t) => {
  const { server, gateway, shown, said } = await startSlackGateway(t, {
    model: ({ lastUserText }) => ({ text: `Heard: ${lastUserText}` }),
    // Slack stops delivering before the end of the outage, so the messages are only in the history.
    server: { maxTries: 0, redeliverMs: 50 },
  })
  await server.say(direct, ada, 'one')
  await shown(direct, 'Heard: one')
  server.faults.startOutage('refuse')
  await server.until(() => (server.delivery.sockets() === 0 ? true : undefined))
  const meanwhile = ['two', 'three'].map((text) => server.say(direct, ada, text))
  server.delivery.forget()
  await server.faults.endOutage()
  await shown(direct, /Heard: .*three/s)
  await Promise.all(meanwhile)
  const replies = said(direct).join('\n')
  assert.ok(replies.indexOf('two') < replies.indexOf('three'), replies)
  assert.equal(replies.match(/two/g)?.length, 1)
  assert.equal(replies.match(/three/g)?.length, 1)
  await gateway.waitForLog({ event: 'slack.socket_closed' })
})

test('messages written while the gateway was down are answered at the next start', async (t) => {
  const { server, gateway, shown } = await startSlackGateway(t, {
    model: ({ lastUserText }) => ({ text: `Heard: ${lastUserText}` }),
    server: { maxTries: 0, redeliverMs: 50 },
  })
  const { ts } = await server.say(channel, ada, `${mention} one`)
  await shown(channel, /Heard:.* one$/)
  await gateway.stop()
  const late = [
    server.say(channel, ada, 'in the thread', { thread_ts: ts }),
    server.say(channel, ada, `${mention} in the channel`),
    server.say(channel, ada, 'not for the bot'),
  ]
  server.delivery.forget()
  await gateway.start()
  await shown(channel, /Heard:.* in the thread$/)
  await shown(channel, /Heard:.* in the channel$/)
  await Promise.all(late)
  assert.equal(gateway.model.requestCount, 3)
})

test('a repeated event over HTTP is answered once', async (t) => {
  const { server, gateway, shown } = await startSlackGateway(t, {
    slack: { mode: 'http' },
    replies: [{ text: 'Hello Ada.' }],
  })
  server.delivery.double(true)
  const { ts, acknowledged } = await server.say(direct, ada, 'Hello')
  assert.equal(acknowledged, true)
  server.delivery.double(false)
  await shown(direct, 'Hello Ada.')
  assert.equal(await server.repeat(ts), true)
  assert.equal(gateway.model.requestCount, 1)
})

test('a reply whose response was lost is found and not posted twice', async (t) => {
  const { server, gateway, said } = await startSlackGateway(t, { replies: [{ text: 'Only once.' }] })
  server.faults.dropResponse('chat.postMessage')
  await server.say(direct, ada, 'Hello')
  await gateway.waitForLog('outbox.delivered')
  assert.deepEqual(said(direct), ['Only once.'])
  assert.equal(server.faults.calls('chat.postMessage'), 1)
})

test('two workspaces are two separate accounts', async (t) => {
  const other = await startSlackServer({ teamId: 'T0OTHER01', botUserId: 'U0BOT0002' })
  populateWorkspace(other)
  const { server, shown, gateway } = await startSlackGateway(t, {
    slack: { accounts: { other: { ...tokensOf(other), allow_from: ['*'] } } },
    model: ({ lastUserText }) => ({ text: `Heard: ${lastUserText}` }),
  })
  t.after(() => other.close())
  await server.say(direct, ada, 'from here')
  await other.say(direct, ada, 'from there')
  await shown(direct, 'Heard: from here')
  await other.until(() => other.posts(direct).find(({ text }) => text === 'Heard: from there'))
  assert.equal(server.posts(direct).length, 1)
  assert.equal(other.posts(direct).length, 1)
  // The same chat id in two workspaces is two conversations.
  assert.doesNotMatch(
    JSON.stringify((await gateway.modelRequest(1)).body),
    /from here.*from there|from there.*from here/s,
  )
})

test('rate limits lose no reply, and are neither violated nor exceeded by much', async (t) => {
  const { server, gateway, said } = await startSlackGateway(t, {
    config: streaming,
    model: ({ lastUserText }) => ({ text: `${lastUserText.replace(/^\[.*?\] /, '')}: ${words}` }),
  })
  const windows = [
    server.faults.limit({ on: 'chat.postMessage', ms: 1_000 }),
    server.faults.limit({ on: 'chat.update', ms: 1_000 }),
  ]
  await Promise.all(Array.from({ length: 4 }, (_, at) => server.say(channel, ada, `${mention} question ${at}`)))
  const done = () =>
    said(channel)
      .filter((text) => text.endsWith(words))
      .toSorted()
  await server.until(() => (done().length === 4 ? true : undefined))
  assert.deepEqual(
    done(),
    [0, 1, 2, 3].map((at) => `question ${at}: ${words}`),
  )
  assert.equal(server.faults.earlyCalls(), 0)
  const late = windows.flatMap((window) => window.lateMs())
  t.diagnostic(`after the told end: ${late.map((ms) => Math.round(ms)).join(', ')} ms`)
  assert.equal(gateway.model.requestCount, 4)
})

test('an edit and a deletion before the reply change the queued messages', async (t) => {
  const gate = createGate()
  const { server, gateway, shown } = await startSlackGateway(t, {
    model: ({ lastUserText }) => ({ text: `Heard: ${lastUserText}`, gate: gate.hold(0) }),
  })
  await server.say(direct, ada, 'the first')
  await gateway.modelRequest(0)
  const { ts } = await server.say(direct, ada, 'the secnd')
  await server.outcomeOf(server.workspace.edit(direct, ts, { text: 'the second' }, ada))
  gate.open()
  await shown(direct, /Heard: .*the second/s)
})

test('pressing a button answers a question and removes its buttons', async (t) => {
  const { server, shown } = await startSlackGateway(t, {
    config: { approvals: { destructive_slash_confirm: true } },
    replies: [{ text: 'Hello.' }],
  })
  await server.say(direct, ada, 'hi')
  await shown(direct, 'Hello.')
  await server.say(direct, ada, '!new')
  const asked = await server.until(() => server.posts(direct).find(({ blocks = [] }) => blocks.length > 0))
  const [button] = JSON.stringify(asked.blocks).matchAll(/"action_id":"([^"]+)"/g)
  assert.ok(button?.[1])
  await server.press(direct, asked.ts, ada, button[1])
  await server.until(() => (server.workspace.find(direct, asked.ts)?.blocks?.length === 0 ? true : undefined))
})
