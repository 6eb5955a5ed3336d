/**
 * MCP clients read and write the conversations of the gateway: over HTTP (`/mcp`) and as a program (`hermes mcp serve`). The
 * client is that of the SDK.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { asArray, asRecord, asString, type JsonObject } from '../../src/lib/json.ts'
import { mainFile } from '../cli/support.ts'
import { createPng } from '../kit/pictures.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { terminalCall, waitForQuestion } from './support.ts'

const toolNames = [
  'attachments_fetch',
  'channels_list',
  'conversation_get',
  'conversations_list',
  'events_poll',
  'events_wait',
  'messages_read',
  'messages_send',
  'permissions_list_open',
  'permissions_respond',
]

interface McpClient {
  readonly client: Client
  /** The structured result of a tool. */
  call(name: string, given?: JsonObject): Promise<JsonObject>
}

/** Closed when the test ends. */
async function connectOverHttp(
  t: TestContext,
  { current }: TestGateway,
  mode: VersionNegotiationMode = 'legacy',
): Promise<McpClient> {
  const { url, token } = current()
  const headers = { authorization: `Bearer ${token()}` }
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } })
  return await connectBy(t, transport, mode)
}

/** `hermes mcp serve` as a process of its own. */
async function connectAsProgram(t: TestContext, home: string): Promise<McpClient> {
  const { PATH = '' } = process.env
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [mainFile, 'mcp', 'serve'],
    env: { PATH, HERMES_HOME: home },
    stderr: 'pipe',
  })
  return await connectBy(t, transport, 'legacy')
}

async function connectBy(
  t: TestContext,
  transport: Parameters<Client['connect']>[0],
  mode: VersionNegotiationMode,
): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(transport)
  t.after(() => client.close())
  return {
    client,
    async call(name, given = {}) {
      const { structuredContent, content } = await client.callTool({ name, arguments: { ...given } })
      const [text] = content
      // Clients of Hermes read the text.
      assert.deepEqual(text?.type === 'text' ? JSON.parse(text.text) : undefined, structuredContent)
      return asRecord(structuredContent)
    },
  }
}

async function converse(gateway: TestGateway, text: string, chat: string): Promise<void> {
  await gateway.say(text, { chat })
  await gateway.waitForReply(text, chat)
}

for (const mode of ['legacy', 'auto'] as const)
  test(`a client over HTTP (${mode}) lists conversations and reads their messages`, async (t) => {
    const replies = [{ text: 'You said: about the garden' }, { text: 'hidden \u{E0041}\u202e words' }]
    const gateway = await startTestGateway(t, { replies })
    await converse(gateway, 'about the garden', 'A')
    await gateway.say('hide words', { chat: 'B' })
    await gateway.waitForReply(/hidden/, 'B')
    const { client, call } = await connectOverHttp(t, gateway, mode)
    const { tools } = await client.listTools()
    assert.deepEqual(tools.map(({ name }) => name).sort(), toolNames)
    const writing = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true).map(({ name }) => name)
    assert.deepEqual(writing.sort(), ['messages_send', 'permissions_respond'])
    assert.match(client.getInstructions() ?? '', /data/)

    const listed = await call('conversations_list', { limit: 1_000_000_000 })
    assert.equal(listed['count'], 2)
    const named = await call('conversations_list', { search: 'GARDEN', platform: 'Fake' })
    const [garden] = asArray(named['conversations']).map(asRecord)
    assert.deepEqual([named['count'], garden?.['display_name']], [1, 'about the garden'])
    assert.equal((await call('conversations_list', { platform: 'slack' }))['count'], 0)

    const key = { session_key: garden?.['session_key'] }
    const shown = await call('conversation_get', key)
    assert.deepEqual([shown['chat_id'], shown['platform'], shown['message_count']], ['A', 'fake', 2])
    const read = await call('messages_read', { ...key, limit: 1 })
    assert.deepEqual(contents(read), ['You said: about the garden'])
    const earlier = await call('messages_read', { ...key, limit: 1, cursor: read['earlier_cursor'] })
    assert.deepEqual(contents(earlier), ['about the garden'])

    const other = asArray(listed['conversations'])
      .map(asRecord)
      .find(({ session_key: one }) => one !== key.session_key)
    const hidden = await call('messages_read', { session_key: other?.['session_key'] })
    assert.match(JSON.stringify(hidden), /hidden/)
    assert.doesNotMatch(JSON.stringify(hidden), /[\u202e\u{E0041}]/u)
    for (const [name, given] of Object.entries({
      conversation_get: { session_key: 'agent:main:none' },
      messages_read: { session_key: '../../../status' },
      attachments_fetch: { ...key, message_id: '99999' },
    })) {
      const { isError, content } = await client.callTool({ name, arguments: given })
      assert.equal(isError, true, name)
      assert.match(JSON.stringify(content), /sessions\/not-found/)
    }
  })

const contents = (read: JsonObject) => asArray(read['messages']).map((one) => asRecord(one)['content'])

test('a client waits for events, and each message is told once', async (t) => {
  const gateway = await startTestGateway(t)
  const { call } = await connectOverHttp(t, gateway)
  const { next_cursor: start, events } = await call('events_poll')
  assert.deepEqual([typeof start, events], ['number', []])
  const waiting = call('events_wait', { after_cursor: start, timeout_ms: 10_000 })
  await converse(gateway, 'news', 'A')
  const first = await waiting
  const { role, content } = asRecord(first['event'])
  assert.deepEqual([role, content], ['user', 'news'])
  const second = await call('events_wait', { after_cursor: first['next_cursor'], timeout_ms: 10_000 })
  assert.equal(asRecord(second['event'])['content'], 'You said: news')
  const end = await call('events_wait', { after_cursor: second['next_cursor'], timeout_ms: 0 })
  assert.deepEqual([end['event'], end['reason']], [null, 'timeout'])
  const polled = await call('events_poll', { after_cursor: start, limit: 1_000_000_000 })
  assert.deepEqual(
    asArray(polled['events']).map((one) => asRecord(one)['content']),
    ['news', 'You said: news'],
  )
})

test('a message is sent once for one key, and what cannot be sent is an error', async (t) => {
  const gateway = await startTestGateway(t)
  const { client, call } = await connectOverHttp(t, gateway)
  const given = { target: 'fake:Room', message: 'from a client', idempotency_key: 'k1' }
  const sent = await call('messages_send', given)
  assert.deepEqual([sent['success'], sent['status'], sent['chat']], [true, 'sent', 'fake:Room'])
  assert.deepEqual(await call('messages_send', given), sent)
  assert.deepEqual(gateway.replies('Room'), ['from a client'])
  assert.equal((await call('messages_send', { ...given, target: 'fake:Hall' }))['chat'], 'fake:Hall')
  assert.deepEqual(gateway.replies('Hall'), ['from a client'])
  for (const wrong of [
    { target: 'nowhere:1', message: 'x' },
    { target: 'fake:Room', message: '' },
    { target: 'fake:Room' },
    { target: 'fake:Room', message: 'x'.repeat(1_000_001) },
  ]) {
    const result = await client.callTool({ name: 'messages_send', arguments: wrong })
    assert.equal(result.isError, true, JSON.stringify(wrong).slice(0, 100))
  }
  // The server stops at its limit of a request.
  await assert.rejects(
    client.callTool({ name: 'messages_send', arguments: { target: 'fake:Room', message: 'x'.repeat(9_000_000) } }),
  )
  assert.deepEqual(gateway.replies('Room'), ['from a client'])
  await converse(gateway, 'hello', 'A')
  const channels = asArray((await call('channels_list'))['channels']).map((one) => asRecord(one)['target'])
  assert.deepEqual(channels, ['fake:A'])
})

test('two clients answer a permission request: the first answer counts', async (t) => {
  const replies = [terminalCall('rm -rf /tmp/nothing-here'), { text: 'done' }]
  const gateway = await startTestGateway(t, { replies, capabilities: ['buttons', 'edit'] })
  const [one, two] = [await connectOverHttp(t, gateway), await connectOverHttp(t, gateway)]
  assert.equal((await one.call('permissions_list_open'))['count'], 0)
  await gateway.say('tidy up')
  await waitForQuestion(gateway)
  const open = await one.call('permissions_list_open')
  const [request] = asArray(open['approvals']).map(asRecord)
  assert.match(asString(request?.['command']), /rm -rf/)
  const decisions = asArray(request?.['decisions']).map((each) => asRecord(each)['decision'])
  assert.ok(decisions.includes('allow-once') && decisions.includes('deny'), String(decisions))
  const id = request?.['id']
  const wrong = await one.client.callTool({ name: 'permissions_respond', arguments: { id, decision: 'perhaps' } })
  assert.equal(wrong.isError, true)
  const answers = await Promise.all([
    one.client.callTool({ name: 'permissions_respond', arguments: { id, decision: 'allow-once' } }),
    two.client.callTool({ name: 'permissions_respond', arguments: { id, decision: 'deny' } }),
  ])
  assert.deepEqual(answers.map(({ isError }) => isError === true).sort(), [false, true])
  await gateway.waitForReply('done')
  assert.equal((await two.call('permissions_list_open'))['count'], 0)
  const unknown = await two.client.callTool({ name: 'permissions_respond', arguments: { id: 'x', decision: 'deny' } })
  assert.equal(unknown.isError, true)
})

test('a person sends a picture, and a client fetches it', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'a cat' }] })
  const { call, client } = await connectOverHttp(t, gateway)
  const png = createPng({ width: 20, height: 10 })
  await gateway.platform.attach({ kind: 'photo', fileName: 'cat.jpg', mimeType: 'image/jpeg', bytes: png })
  await gateway.waitForReply('a cat')
  const [conversation] = asArray((await call('conversations_list'))['conversations']).map(asRecord)
  const key = { session_key: conversation?.['session_key'] }
  const [message] = asArray((await call('messages_read', key))['messages']).map(asRecord)
  assert.equal(message?.['attachments'], 1)
  const fetched = await client.callTool({
    name: 'attachments_fetch',
    arguments: { ...key, message_id: message?.['id'] },
  })
  const [text, picture] = fetched.content
  assert.equal(asRecord(fetched.structuredContent)['count'], 1, JSON.stringify(text))
  assert.ok(picture?.type === 'image', JSON.stringify(text))
  assert.deepEqual([picture.mimeType, picture.data], ['image/png', png.toString('base64')])
})

test('clients without the token, of foreign hosts and pages, and with other methods are refused', async (t) => {
  const gateway = await startTestGateway(t)
  const { url, token } = gateway.current()
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const ask = (headers: Readonly<Record<string, string>>, method = 'POST', content: string | undefined = body) =>
    fetch(`${url}/mcp`, {
      method,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      ...(method === 'POST' ? { body: content } : {}),
    })
  const authorization = `Bearer ${token()}`
  assert.equal((await ask({})).status, 401)
  assert.equal((await ask({ authorization: 'Bearer wrong' })).status, 401)
  assert.equal((await ask({ authorization, origin: 'https://evil.example' })).status, 403)
  assert.equal((await ask({ authorization }, 'GET')).status, 405)
  assert.equal((await ask({ authorization }, 'POST', '{ no json')).status, 400)
  assert.equal((await ask({ authorization }, 'POST', '[]')).status, 400)
  assert.equal((await ask({ authorization })).status, 200)
  assert.match(await rebound(new URL(url), authorization), /^HTTP\/1.1 403 /)
})

/** A request whose name of the host points at this machine. */
function rebound({ hostname, port }: URL, authorization: string): Promise<string> {
  const head = `POST /mcp HTTP/1.1\r\nhost: evil.example\r\nauthorization: ${authorization}\r\ncontent-length: 0\r\n\r\n`
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(head))
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      resolve(data.toString())
    })
  })
}

test('a client that hangs up while it waits for an event waits no more', async (t) => {
  const gateway = await startTestGateway(t)
  const { client, call } = await connectOverHttp(t, gateway)
  const { next_cursor: cursor } = await call('events_poll')
  const given = { name: 'events_wait', arguments: { after_cursor: cursor, timeout_ms: 300_000 } }
  const hangUp = new AbortController()
  const waiting = client.callTool(given, { signal: hangUp.signal })
  const others = Array.from({ length: 20 }, () => client.callTool(given).catch(() => undefined))
  hangUp.abort()
  await assert.rejects(waiting)
  await client.close()
  await Promise.all(others)
  // A stop waits for requests that are still served.
  await gateway.stop()
  await gateway.start()
})

test('a program of a client works through the daemon, also over its restart, and says when there is none', async (t) => {
  const gateway = await startTestGateway(t)
  const { client, call } = await connectAsProgram(t, gateway.home.root)
  assert.deepEqual((await client.listTools()).tools.map(({ name }) => name).sort(), toolNames)
  await converse(gateway, 'first', 'A')
  // Since the program was started.
  const polled = await call('events_poll')
  assert.deepEqual(
    asArray(polled['events']).map((one) => asRecord(one)['content']),
    ['first', 'You said: first'],
  )
  const waiting = call('events_wait', { after_cursor: polled['next_cursor'], timeout_ms: 60_000 })
  await gateway.stop()
  const absent = await client.callTool({ name: 'conversations_list', arguments: {} })
  assert.match(JSON.stringify(absent.content), /cli\/no-daemon/)
  await gateway.start()
  await converse(gateway, 'second', 'A')
  // A cursor of the process before leads to the messages of this one, and the client learns that other events may be lost.
  let event = await waiting
  for (; event['event'] === null; event = await call('events_wait', { after_cursor: event['next_cursor'] }));
  assert.equal(asRecord(event['event'])['content'], 'second')
})
