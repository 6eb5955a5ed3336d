/**
 * Slack's own streaming, and every way in which it says no.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { displayed } from '../../../kit/servers/slack/slack-server.ts'
import { ada, channel, direct, neverAborted, reply, type SlackTestOptions, startSlackTest } from '../support.ts'

const mention = '<@U0BOT0001>'

/** A channel thread in which Ada has asked something, and a growing answer of ours. */
async function startAskedTest(t: TestContext, given: SlackTestOptions = {}) {
  const all = await startSlackTest(t, { server: { streaming: 'everywhere' }, ...given })
  const { server, adapter } = all
  const { ts: thread } = await server.say(channel, ada, `${mention} tell me`)
  const grow = async (text: string, ts?: string) => {
    const draft = reply(text, channel, { thread, kind: 'draft', deliveryId: 'draft:turn' })
    const result =
      ts === undefined ? await adapter.send(draft, neverAborted) : await adapter.edit?.(ts, draft, false, neverAborted)
    assert.ok(result?.success, JSON.stringify(result))
    return result.messageId ?? ''
  }
  const finish = async (text: string, ts: string, more = {}) =>
    await adapter.edit?.(ts, reply(text, channel, { thread, ...more }), true, neverAborted)
  const shown = () => server.posts(channel).map((post) => [displayed(post), post.streaming_state])
  return { ...all, thread, grow, finish, shown }
}

test('a stream is extended by the new text, and finishing it twice is harmless', async (t) => {
  const { server, grow, finish, shown } = await startAskedTest(t)
  const ts = await grow('The quick ')
  await grow('The quick brown', ts)
  assert.deepEqual(shown(), [['The quick brown', 'in_progress']])
  for (const _ of ['first', 'again']) assert.equal((await finish('The quick brown fox.', ts))?.success, true)
  assert.deepEqual(shown(), [['The quick brown fox.', 'completed']])
  assert.equal(server.faults.calls('chat.update'), 0)
  assert.deepEqual(server.posts(channel)[0]?.metadata?.['event_payload'], { id: 'delivery' })
})

test('a stream is addressed to the user who asked', async (t) => {
  const { grow, server, adapter } = await startAskedTest(t)
  await grow('The quick ')
  // This thread has no known author, so the reply is posted.
  const root = server.workspace.post(channel, { user: ada, text: 'other', subtype: 'hidden' })
  const draft = reply('Hello', channel, { thread: root.ts, kind: 'draft' })
  assert.equal((await adapter.send(draft, neverAborted)).success, true)
  assert.equal(server.faults.calls('chat.startStream'), 1)
  assert.equal(server.faults.calls('chat.postMessage'), 1)
})

test('a rewritten text closes the stream and edits the message', async (t) => {
  const { grow, finish, shown } = await startAskedTest(t)
  const ts = await grow('The quick brown')
  await grow('A slow white', ts)
  assert.deepEqual(shown(), [['A slow white ▉', 'completed']])
  assert.equal((await finish('A slow white rabbit.', ts))?.success, true)
  assert.deepEqual(shown(), [['A slow white rabbit.', 'completed']])
})

test('a final text that differs from the stream replaces it', async (t) => {
  const { grow, finish, shown } = await startAskedTest(t)
  const ts = await grow('The password is hunter2')
  assert.equal((await finish('The password is [removed]', ts))?.success, true)
  assert.deepEqual(shown(), [['The password is [removed]', 'completed']])
})

test('a stream that Slack closes continues with edits', async (t) => {
  const { server, grow, finish, shown } = await startAskedTest(t)
  const ts = await grow('The quick')
  const message = server.workspace.find(channel, ts)
  assert.ok(message)
  message.streaming_state = 'completed'
  await grow('The quick brown', ts)
  assert.deepEqual(shown(), [['The quick brown ▉', 'completed']])
  assert.equal((await finish('The quick brown fox.', ts))?.success, true)
  assert.deepEqual(shown(), [['The quick brown fox.', 'completed']])
})

test('a frame whose response was lost repeats no text in the final message', async (t) => {
  const { server, adapter, grow, finish, shown, thread } = await startAskedTest(t)
  const ts = await grow('The quick')
  server.faults.dropResponse('chat.appendStream')
  const draft = reply('The quick brown', channel, { thread, kind: 'draft' })
  const lost = await adapter.edit?.(ts, draft, false, neverAborted)
  assert.ok(lost !== undefined && !lost.success && lost.problem === 'temporary')
  assert.equal((await finish('The quick brown fox.', ts))?.success, true)
  assert.deepEqual(shown(), [['The quick brown fox.', 'completed']])
})

test('a stream whose end has an unknown result is finished again', async (t) => {
  const { server, grow, finish, shown } = await startAskedTest(t)
  const ts = await grow('The quick')
  server.faults.dropResponse('chat.stopStream')
  const lost = await finish('The quick brown fox.', ts)
  assert.ok(lost !== undefined && !lost.success && lost.problem === 'temporary')
  assert.equal((await finish('The quick brown fox.', ts))?.success, true)
  assert.deepEqual(shown(), [['The quick brown fox.', 'completed']])
})

test('after a restart the final text closes a stream that is still open', async (t) => {
  const { createAnother, adapter, grow, shown, thread } = await startAskedTest(t)
  const ts = await grow('The quick')
  await adapter.disconnect()
  const next = createAnother()
  await next.connect(neverAborted)
  const result = await next.edit?.(ts, reply('The quick brown fox.', channel, { thread }), true, neverAborted)
  assert.equal(result?.success, true, JSON.stringify(result))
  assert.deepEqual(shown(), [['The quick brown fox.', 'completed']])
})

test('a stream whose start has an unknown result is found, and removed when abandoned', async (t) => {
  const { server, adapter, thread } = await startAskedTest(t)
  const draft = reply('The quick', channel, { thread, kind: 'draft', deliveryId: 'draft:turn' })
  server.faults.dropResponse('chat.startStream')
  const lost = await adapter.send(draft, neverAborted)
  assert.ok(!lost.success && lost.maybeSent === true)
  const found = await adapter.resolveUnknown?.(draft, neverAborted)
  assert.ok(found !== undefined && found !== 'unknown' && found.sent && found.messageId !== undefined)
  assert.equal((await adapter.remove?.(draft.target, found.messageId, neverAborted))?.success, true)
  assert.deepEqual(server.posts(channel), [])
})

test('a reply with buttons closes its stream and is edited', async (t) => {
  const { server, grow, finish } = await startAskedTest(t)
  const ts = await grow('May I')
  const buttons = [{ id: 'ask:1:allow', label: 'Allow' }]
  assert.equal((await finish('May I delete it?', ts, { buttons }))?.success, true)
  assert.equal(server.posts(channel)[0]?.blocks?.length, 2)
})

test('a very long reply is streamed in several frames', async (t) => {
  const { grow, finish, shown } = await startAskedTest(t)
  const text = 'word '.repeat(7_000).trim()
  const ts = await grow(text.slice(0, 20_000))
  assert.equal((await finish(text, ts))?.success, true)
  assert.equal(shown()[0]?.[0], text)
})

test('streams in direct chats continue to work when channels do not support them', async (t) => {
  const { server, adapter, grow } = await startAskedTest(t, { server: { streaming: 'direct' } })
  await grow('The quick')
  assert.match(server.posts(channel)[0]?.text ?? '', /▉$/)
  const { ts } = await server.say(direct, ada, 'in an assistant thread')
  const draft = reply('Hello', direct, { thread: ts, kind: 'draft' })
  assert.equal((await adapter.send(draft, neverAborted)).success, true)
  assert.equal(server.posts(direct)[0]?.streaming_state, 'in_progress')
})

test('a rate limit on new streams falls back to a post, and streams resume later', async (t) => {
  let now = 1_000_000
  const { server, grow, shown } = await startAskedTest(t, { server: { streaming: 'everywhere' }, clock: () => now })
  server.faults.limit({ on: 'chat.startStream', ms: 1_000 })
  await grow('The quick')
  await grow('The other')
  assert.deepEqual(
    shown().map(([text]) => text),
    ['The quick ▉', 'The other ▉'],
  )
  assert.equal(server.faults.calls('chat.startStream'), 1)
  server.faults.clear()
  now += 1_000
  await grow('The third')
  assert.deepEqual(shown().at(-1), ['The third', 'in_progress'])
})

test('a growing reply mentions no user, even when a mention is split between frames', async (t) => {
  const { server, grow, finish } = await startAskedTest(t)
  const ts = await grow('Hi <')
  await grow('Hi <!channel> and', ts)
  await finish('Hi <!channel> and bye', ts)
  assert.doesNotMatch(server.posts(channel)[0]?.text ?? '<!', /<[!@#]/)
})
