import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createHub } from '../../../platforms/console/hub.ts'
import type { ChatEvent } from '../../../src/clients/chat/chat-client.ts'
import { HermesError } from '../../../src/lib/errors.ts'
import { platformContract } from '../../kit/contracts/platform.ts'
import { createRecordingContext } from '../../kit/recording-context.ts'
import { chat, openTerminal, target, token } from './terminal.ts'

const { signal } = new AbortController()

platformContract('the console', async () => {
  const { adapter, gateway, createAnother, client, request, close } = await openTerminal()
  const watching = new AbortController()
  const events = client.events(watching.signal)
  return {
    adapter,
    gateway,
    target,
    createAnother,
    secrets: [token],
    async say(text, id) {
      const response = await request('/cli/messages', { method: 'POST', body: JSON.stringify({ chat, id, text }) })
      return response.status === 202
    },
    async openChat() {
      await events.next()
    },
    async seen(text) {
      for await (const event of events) if (event.type === 'message' && event.text === text) return
    },
    async close() {
      watching.abort()
      await close()
    },
  }
})

async function connected(t: TestContext) {
  const terminal = await openTerminal()
  t.after(terminal.close)
  await terminal.adapter.connect(signal)
  return terminal
}

/** The next events of a stream. */
async function take(events: AsyncGenerator<ChatEvent>, count: number): Promise<ChatEvent[]> {
  const received: ChatEvent[] = []
  while (received.length < count) {
    const { value, done } = await events.next()
    if (done) break
    received.push(value)
  }
  return received
}

test('a message of a terminal belongs to the owner and has a number', async (t) => {
  const { client, gateway } = await connected(t)
  assert.equal(await client.send('/status now', signal), 1)
  assert.equal(await client.send('hello', signal), 2)
  const [first] = gateway.ingestedEvents
  assert.equal(first?.event.messageType, 'command')
  assert.equal(first?.event.source.userId, 'owner')
  assert.equal(first?.event.source.chatType, 'dm')
  assert.match(first?.keys[0] ?? '', new RegExp(`^cli:${chat}:`))
})

test('a message that is posted twice has the same number', async (t) => {
  const { request } = await connected(t)
  const body = JSON.stringify({ chat, id: 'one', text: 'hello' })
  for (const _ of ['once', 'again']) {
    const response = await request('/cli/messages', { method: 'POST', body })
    assert.deepEqual([response.status, await response.json()], [202, { seq: 1 }])
  }
})

test('an invalid message is refused with the expected format', async (t) => {
  const { request } = await connected(t)
  const bodies = ['not json', '[]', '{}', JSON.stringify({ chat: '../..', id: '1', text: 'x' })]
  bodies.push(JSON.stringify({ chat, id: '1', text: '  ' }), JSON.stringify({ chat, id: 7, text: 'x' }))
  for (const body of bodies) {
    const response = await request('/cli/messages', { method: 'POST', body })
    assert.equal(response.status, 400, body)
    assert.match(await response.text(), /http\/bad-request/)
  }
  assert.equal((await request('/cli/outcome?seq=zero')).status, 400)
  assert.equal((await request('/cli/stream')).status, 400)
})

test('a full disk is reported with a hint, and the message is not acknowledged', async (t) => {
  const { client, gateway } = await connected(t)
  gateway.failNextAccept(new HermesError('store/full'))
  await assert.rejects(client.send('hello', signal), (error) => {
    assert.ok(error instanceof HermesError)
    assert.equal(error.code, 'store/full')
    assert.equal(error.message, new HermesError('store/full').message)
    assert.notEqual(error.hint, '')
    return true
  })
})

test('a terminal follows a turn while it happens', async (t) => {
  const { client, adapter } = await connected(t)
  const events = client.events(signal)
  assert.deepEqual((await events.next()).value, { type: 'ready', cursor: '' })
  const message = { deliveryId: 'd1', target, text: 'Hel', kind: 'draft' as const, turnId: 't1' }
  adapter.activity?.(target, { kind: 'turn-started', turnId: 't1' })
  await adapter.send(message, signal)
  adapter.activity?.(target, { kind: 'tool-started', turnId: 't1', callId: 'c', tool: 'terminal', label: 'ls' })
  await adapter.edit?.('d1', { ...message, text: 'Hello' }, false, signal)
  await adapter.edit?.('d1', { ...message, text: 'Hello.', kind: 'reply' }, true, signal)
  await adapter.send({ deliveryId: 'd2', target, text: 'Note', kind: 'notice' }, signal)
  assert.deepEqual(await take(events, 6), [
    { type: 'activity', activity: { kind: 'turn-started' } },
    { type: 'draft', id: 'd1', text: 'Hel', turnId: 't1' },
    { type: 'activity', activity: { kind: 'tool-started', turnId: 't1', callId: 'c', tool: 'terminal', label: 'ls' } },
    { type: 'draft', id: 'd1', text: 'Hello', turnId: 't1' },
    { type: 'message', id: 'd1', kind: 'message', text: 'Hello.', turnId: 't1' },
    { type: 'message', id: 'd2', kind: 'notice', text: 'Note' },
  ])
  await events.return(undefined)
})

test('a terminal receives no messages of other chats', async (t) => {
  const { client, adapter } = await connected(t)
  const events = client.events(signal)
  await events.next()
  const other = { ...target, chatId: 'chat-2' }
  await adapter.send({ deliveryId: 'd1', target: other, text: 'secret', kind: 'reply' }, signal)
  await adapter.send({ deliveryId: 'd2', target, text: 'mine', kind: 'reply' }, signal)
  assert.deepEqual(await take(events, 1), [{ type: 'message', id: 'd2', kind: 'message', text: 'mine' }])
  await events.return(undefined)
})

test('a terminal that reconnects receives only the missed messages', async (t) => {
  const { client, adapter, gateway } = await connected(t)
  const line = { kind: 'message' as const, at: 0 }
  gateway.history.push({ ...line, id: '1', from: 'user', text: 'hi' }, { ...line, id: '2', from: 'agent', text: 'old' })
  const events = client.events(signal)
  assert.deepEqual((await events.next()).value, { type: 'ready', cursor: '2' })
  gateway.history.push({ ...line, id: '3', from: 'user', text: 'and?' })
  gateway.history.push({ ...line, id: '4', from: 'agent', text: 'new', turnId: 't' })

  // The daemon goes and comes back.
  await adapter.disconnect()
  const again = await openTerminal()
  t.after(again.close)
  again.gateway.history.push(...gateway.history)
  await again.adapter.connect(signal)
  const ended = await events.return(undefined)
  assert.equal(ended.done, true)
  const response = await again.request(`/cli/stream?chat=${chat}&after=2`)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('ready')) text += (await reader?.read())?.value ?? ''
  await reader?.cancel()
  assert.deepEqual(
    text
      .trim()
      .split('\n')
      .map((one) => JSON.parse(one)),
    [
      { type: 'missed', id: '4', kind: 'message', text: 'new', turnId: 't' },
      { type: 'ready', cursor: '4' },
    ],
  )
})

test('the result of a message is available when its turn has ended', async (t) => {
  const { client, gateway } = await connected(t)
  const seq = await client.send('hello', signal)
  const waiting = client.waitForResult(seq, signal)
  gateway.completeTurn(seq, { text: 'Hi.', status: 'done' })
  assert.equal((await waiting).text, 'Hi.')
  assert.equal((await client.waitForResult(seq, signal)).text, 'Hi.')
})

test('stop ends the pending messages of a chat', async (t) => {
  const { client, gateway, request } = await connected(t)
  const answered = await client.send('one', signal)
  const open = await client.send('two', signal)
  await request('/cli/messages', { method: 'POST', body: JSON.stringify({ chat: 'other', id: '1', text: 'three' }) })
  gateway.completeTurn(answered, {})
  await client.waitForResult(answered, signal)
  await client.stop(undefined, signal)
  assert.deepEqual(gateway.stopped, [open])
  await client.stop(17, signal)
  assert.deepEqual(gateway.stopped, [open, open, 17])
})

test('a terminal that does not read its stream is disconnected', async () => {
  const { context } = createRecordingContext()
  const hub = createHub(context)
  const stream = hub.listen(chat, null, signal)
  const text = 'x'.repeat(1_000_000)
  for (let id = 0; id < 9; id += 1) hub.publish(chat, { type: 'message', id: String(id), kind: 'message', text })
  let bytes = 0
  for await (const chunk of stream) bytes += chunk.byteLength
  assert.ok(bytes > 4_000_000 && bytes < 6_000_000, `${bytes} bytes were kept`)
})

test('a ninth terminal of a chat replaces the first', async () => {
  const { context } = createRecordingContext()
  const hub = createHub(context)
  const streams = Array.from({ length: 9 }, () => hub.listen(chat, null, signal).getReader())
  hub.publish(chat, { type: 'message', id: '1', kind: 'message', text: 'hello' })
  const [first, second] = streams
  assert.ok(first && second)
  assert.equal((await first.read()).done, true)
  assert.match(new TextDecoder().decode((await second.read()).value), /hello/)
  await Promise.all(streams.map((stream) => stream.cancel()))
  hub.publish(chat, { type: 'message', id: '2', kind: 'message', text: 'no listener' })
})
