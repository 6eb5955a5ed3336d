import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { type ChatEvent, createChatClient } from '../../../src/clients/chat/chat-client.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { openTerminal, target, token } from '../../platforms/console/terminal.ts'

const { signal } = new AbortController()
const atOnce = async () => undefined

async function connected(t: TestContext) {
  const terminal = await openTerminal()
  t.after(terminal.close)
  await terminal.adapter.connect(signal)
  return terminal
}

/** An address without a listener. */
async function deadAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${address.port}`
}

test('without a daemon there is one error with a hint', async () => {
  const client = createChatClient({ url: await deadAddress(), token, fetch, sleep: atOnce })
  const isNoDaemon = (error: unknown) => {
    assert.ok(isHermesError(error, 'cli/no-daemon'))
    assert.match(error.message, /ECONNREFUSED/)
    assert.match(error.hint, /hermes gateway run/)
    return true
  }
  await assert.rejects(client.send('hello', signal), isNoDaemon)
  await assert.rejects(client.events(signal).next(), isNoDaemon)
  await assert.rejects(client.waitForResult(1, signal), isNoDaemon)
})

test('a wrong token is refused immediately, without a retry', async (t) => {
  const { url } = await connected(t)
  const client = createChatClient({ url, token: 'wrong', fetch, sleep: atOnce })
  const isRefused = (error: unknown) => isHermesError(error, 'http/unauthorised')
  await assert.rejects(client.send('hi', signal), isRefused)
  await assert.rejects(client.waitForResult(1, signal), isRefused)
  await assert.rejects(client.events(signal).next(), isRefused)
})

test('conversations are separate unless a chat is named', async (t) => {
  const { url } = await connected(t)
  const one = createChatClient({ url, token, fetch })
  const two = createChatClient({ url, token, fetch })
  assert.notEqual(one.chat, two.chat)
  assert.equal(createChatClient({ url, token, fetch, chat: 'mine' }).chat, 'mine')
})

test('waiting for a result survives a restart of the daemon', async (t) => {
  const before = await connected(t)
  const after = await connected(t)
  let current = before
  let failures = 0
  const client = createChatClient({
    url: before.url,
    token,
    // The daemon starts again at the same address.
    fetch: (input, init) =>
      fetch(String(input).replace(before.url.replace(/\/$/, ''), current.url.replace(/\/$/, '')), init),
    sleep: async () => {
      failures += 1
      if (failures === 3) current = after
    },
  })
  const seq = await client.send('hello', signal)
  const waiting = client.waitForResult(seq, signal)
  await before.close()
  after.gateway.completeTurn(seq, { text: 'Answered after the restart.' })
  assert.equal((await waiting).text, 'Answered after the restart.')
  assert.ok(failures >= 3)
})

test('after a lost connection the events of a chat continue with those that were missed', async (t) => {
  const { url, adapter, gateway } = await connected(t)
  let cut: () => void = () => undefined
  let tries = 0
  const client = createChatClient({
    url,
    token,
    chat: target.chatId,
    sleep: atOnce,
    fetch: async (input, init) => {
      tries += 1
      if (tries === 2 || tries === 3) throw new TypeError('fetch failed')
      const connection = new AbortController()
      cut = () => connection.abort(new TypeError('terminated'))
      return fetch(input, { ...init, signal: connection.signal })
    },
  })
  const events = client.events(signal)
  const next = async (): Promise<ChatEvent | undefined> => (await events.next()).value
  assert.equal((await next())?.type, 'ready')
  cut()
  gateway.history.push({ id: '1', from: 'agent', kind: 'notice', text: 'Said while away', at: 0 })
  assert.deepEqual(await next(), { type: 'lost' })
  assert.deepEqual(await next(), { type: 'missed', id: '1', kind: 'notice', text: 'Said while away' })
  assert.deepEqual(await next(), { type: 'ready', cursor: '1' })
  await adapter.send({ deliveryId: 'd', target, text: 'live again', kind: 'reply' }, signal)
  assert.deepEqual(await next(), { type: 'message', id: 'd', kind: 'message', text: 'live again' })
  await events.return(undefined)
})

test('events that this version does not know are skipped', async () => {
  const lines = [
    '{"type":"hologram"}',
    '{"type":"activity","activity":{"kind":"dance"}}',
    '{"type":"ready","cursor":"9"}',
  ]
  const client = createChatClient({
    url: 'http://127.0.0.1:1',
    token,
    sleep: atOnce,
    fetch: async () => new Response(`${lines.join('\n')}\n`),
  })
  const events = client.events(signal)
  assert.deepEqual((await events.next()).value, { type: 'ready', cursor: '9' })
  await events.return(undefined)
})

test('a response that does not come from the gateway is reported as such', async () => {
  const client = createChatClient({
    url: 'http://127.0.0.1:1',
    token,
    fetch: async () => new Response('<html>Bad Gateway</html>', { status: 502 }),
  })
  await assert.rejects(
    client.send('hi', signal),
    (error) => isHermesError(error, 'cli/failed') && error.message.includes('502'),
  )
})

test('waiting can be aborted', async (t) => {
  const { client } = await connected(t)
  const seq = await client.send('hello', signal)
  const enough = new AbortController()
  const waiting = client.waitForResult(seq, enough.signal)
  enough.abort()
  await assert.rejects(waiting)
})

test('an upload that the gateway no longer takes ends with an error', async () => {
  let pieces = 0
  const stuck: typeof fetch = async (url) => {
    if (!String(url).includes('?from=')) return Response.json({ max_bytes: 9, piece_bytes: 9, id: 'a', received: 0 })
    pieces += 1
    return Response.json({ id: 'a', bytes: 5, received: 0 })
  }
  const client = createChatClient({ url: 'http://127.0.0.1:1', token, fetch: stuck, sleep: atOnce })
  const upload = client.upload('a.txt', new Blob(['words']), signal)
  await assert.rejects(upload, (error) => isHermesError(error, 'media/upload-gone'))
  assert.ok(pieces < 10)
})
