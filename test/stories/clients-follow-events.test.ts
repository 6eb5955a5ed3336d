/**
 * Clients of the JSON API are told what happens (`GET /api/events`): page by page, waiting, or as a stream.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { asArray, asRecord, asString, type JsonObject } from '../../src/lib/json.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { terminalCall, waitForQuestion } from './support.ts'

interface Page {
  readonly events: readonly JsonObject[]
  readonly cursor: string
  readonly missed: unknown
}

function request(gateway: TestGateway, query: string, init: RequestInit = {}): Promise<Response> {
  const { url, token } = gateway.current()
  const headers = { authorization: `Bearer ${token()}`, ...init.headers }
  return fetch(`${url}/api/events?${query}`, { ...init, headers })
}

async function read(gateway: TestGateway, query = ''): Promise<Page> {
  const response = await request(gateway, query)
  const body = asRecord(await response.json())
  assert.equal(response.status, 200, JSON.stringify(body))
  return {
    events: asArray(body['events']).map(asRecord),
    cursor: asString(body['next_cursor']),
    missed: body['missed'],
  }
}

/** Reads on until an event of this type has come. */
async function readUntil(gateway: TestGateway, cursor: string, type: string): Promise<Page> {
  const events: JsonObject[] = []
  for (let after = cursor; ; ) {
    const page = await read(gateway, `cursor=${after}&wait=10`)
    events.push(...page.events)
    after = page.cursor
    assert.notEqual(page.events.length, 0, `no ${type} within ten seconds`)
    if (page.events.some((event) => event['type'] === type)) return { ...page, events }
  }
}

const typesOf = ({ events }: Page) => events.map(({ type }) => type)

async function startWithCommand(t: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const replies = [terminalCall('echo working'), { text: 'the answer' }]
  return await startTestGateway(t, { replies, ...options })
}

test('a client that waits is told of a message, the tools and the answer in their order', async (t) => {
  const gateway = await startWithCommand(t)
  const start = await read(gateway)
  assert.deepEqual([start.events, start.missed], [[], false])
  const waiting = readUntil(gateway, start.cursor, 'turn_ended')
  await gateway.say('the question')
  const page = await waiting
  assert.deepEqual(typesOf(page), [
    'message',
    'turn_started',
    'session_started',
    'tool_started',
    'tool_ended',
    'message',
    'turn_ended',
  ])
  const messages = page.events.filter(({ type }) => type === 'message')
  assert.deepEqual(
    messages.map(({ role, text, platform }) => [role, text, platform]),
    [
      ['user', 'the question', 'fake'],
      ['assistant', 'the answer', 'fake'],
    ],
  )
  const [tool] = page.events.filter(({ type }) => type === 'tool_ended')
  assert.deepEqual([tool?.['tool'], tool?.['ok']], ['terminal', true])
  const cursors = page.events.map(({ cursor }) => Number(cursor))
  assert.deepEqual(
    cursors,
    cursors.toSorted((a, b) => a - b),
  )
  assert.equal(new Set(cursors).size, cursors.length)
})

test('after a restart the messages are told again by cursor, and the client learns that other events are lost', async (t) => {
  const gateway = await startWithCommand(t)
  const { cursor } = await read(gateway)
  await gateway.say('the question')
  const before = await readUntil(gateway, cursor, 'turn_ended')
  await gateway.stop()
  await gateway.start()
  const again = await read(gateway, `cursor=${cursor}`)
  assert.equal(again.missed, true)
  assert.deepEqual(
    again.events,
    before.events.filter(({ type }) => type === 'message'),
  )
  const onlyMessages = await read(gateway, `cursor=${cursor}&types=message`)
  assert.deepEqual([onlyMessages.missed, onlyMessages.events.length], [false, 2])
  // A client that had read everything still learns that the process is another one.
  assert.equal((await read(gateway, `cursor=${before.cursor}`)).missed, true)
  const all = await read(gateway, 'cursor=0&types=message&limit=1')
  assert.deepEqual(all.events, onlyMessages.events.slice(0, 1))
  assert.deepEqual((await read(gateway, `cursor=${all.cursor}&types=message`)).events, onlyMessages.events.slice(1))
})

test('a client follows one session and some types alone', async (t) => {
  const gateway = await startTestGateway(t)
  const { cursor } = await read(gateway)
  await gateway.say('one', { chat: 'A' })
  await gateway.waitForReply('one', 'A')
  await gateway.say('two', { chat: 'B' })
  await gateway.waitForReply('two', 'B')
  const first = await readUntil(gateway, cursor, 'turn_ended')
  if (typesOf(first).filter((type) => type === 'turn_ended').length === 1)
    await readUntil(gateway, first.cursor, 'turn_ended')
  const all = await read(gateway, `cursor=${cursor}&types=message,turn_ended`)
  assert.deepEqual([...new Set(typesOf(all))].sort(), ['message', 'turn_ended'])
  const of = all.events.find(({ text }) => text === 'two')
  for (const session of [of?.['session_key'], of?.['session_id']]) {
    const one = await read(gateway, `cursor=${cursor}&session=${encodeURIComponent(asString(session))}&types=message`)
    assert.deepEqual(
      one.events.map(({ text }) => text),
      ['two', 'You said: two'],
    )
  }
})

test('a long message is cut, and a hidden character is shown', async (t) => {
  const replies = [{ text: `\u{E0041}${'a'.repeat(5_000)}` }]
  const gateway = await startTestGateway(t, { replies })
  const { cursor } = await read(gateway)
  await gateway.say('say much')
  const { events } = await readUntil(gateway, cursor, 'turn_ended')
  const [question, answer] = events.filter(({ type }) => type === 'message')
  assert.equal(question?.['truncated'], false)
  assert.equal(answer?.['truncated'], true)
  assert.match(asString(answer?.['text']), /^\\u\{e0041\}a{1900,2000}$/)
})

test('a question and its answer are events', async (t) => {
  const config = { approvals: { mode: 'ask' } }
  const replies = [terminalCall('rm -rf /tmp/nothing-here'), { text: 'removed' }]
  const gateway = await startTestGateway(t, { config, replies, capabilities: ['buttons', 'edit'] })
  const { cursor } = await read(gateway)
  await gateway.say('tidy up')
  const asked = await readUntil(gateway, cursor, 'approval_requested')
  const question = await waitForQuestion(gateway)
  await gateway.platform.press(question, question.buttons[0]?.label ?? '')
  const resolved = await readUntil(gateway, asked.cursor, 'approval_resolved')
  const ids = [...asked.events, ...resolved.events].flatMap(({ approval_id: id }) => (id === undefined ? [] : [id]))
  assert.equal(new Set(ids).size, 1)
  assert.equal(resolved.events.find(({ type }) => type === 'approval_resolved')?.['outcome'], 'answered')
})

test('a stream has the events as they come, and continues after the last one that the client has', async (t) => {
  const gateway = await startTestGateway(t)
  const headers = { accept: 'text/event-stream' }
  const stream = await request(gateway, 'types=message', { headers })
  assert.equal(stream.headers.get('content-type'), 'text/event-stream')
  await gateway.say('hello')
  const text = await readStream(stream, (seen) => seen.split('event: message').length > 2)
  const [first = ''] = [...text.matchAll(/id: (\d+)\nevent: message/g)].map(([, id]) => id)
  const rest = await request(gateway, 'types=message', { headers: { ...headers, 'last-event-id': first } })
  const again = await readStream(rest, (seen) => seen.includes('event: message'))
  assert.ok(!again.includes('"role":"user"') && again.includes('"role":"assistant"'), again)
})

test('a stop of the gateway ends the requests that wait, and a client that hangs up stops waiting', async (t) => {
  const gateway = await startTestGateway(t)
  const { cursor } = await read(gateway)
  const waiting = Array.from({ length: 50 }, () => read(gateway, `cursor=${cursor}&wait=300`))
  const hangUp = new AbortController()
  const gone = request(gateway, `cursor=${cursor}&wait=300`, { signal: hangUp.signal })
  hangUp.abort()
  await assert.rejects(gone)
  await Promise.resolve()
  // All of them wait once this one has ended.
  await read(gateway, `cursor=${cursor}&wait=0.2`)
  await gateway.stop()
  for (const page of await Promise.all(waiting)) assert.deepEqual(page.events, [])
  await gateway.start()
})

test('hooks receive no events of platforms without gateway events because a client follows them', async (t) => {
  const gateway = await startTestGateway(t)
  const { cursor } = await read(gateway)
  const { url, token } = gateway.current()
  const headers = { authorization: `Bearer ${token()}` }
  const body = JSON.stringify({ chat: 'c1', id: 'm1', text: 'from a terminal' })
  const sent = await fetch(`${url}/cli/messages`, { method: 'POST', headers, body })
  assert.equal(sent.status, 202)
  const page = await readUntil(gateway, cursor, 'turn_ended')
  assert.ok(page.events.some(({ type, platform }) => type === 'session_started' && platform === 'cli'))
  assert.deepEqual(
    gateway.events.filter(({ context }) => context['platform'] === 'cli'),
    [],
  )
})

test('requests with invalid parameters are refused', async (t) => {
  const gateway = await startTestGateway(t)
  for (const query of [
    'cursor=x',
    'cursor=-1',
    'cursor=99999999999999999999',
    'wait=301',
    'wait=-1',
    'wait=x',
    'wait=',
    'limit=0',
    'limit=1000000000',
    'types=message,nonsense',
  ]) {
    const response = await request(gateway, query)
    assert.equal(response.status, 400, query)
    assert.equal(asRecord(asRecord(await response.json())['error'])['code'], 'http/bad-request')
  }
  assert.equal((await request(gateway, '', { headers: { authorization: 'Bearer wrong' } })).status, 401)
  // From another database, or from before a restore of an old one.
  const page = await read(gateway, `cursor=${2 ** 52}`)
  assert.deepEqual([page.events, page.missed], [[], true])
})

async function readStream(response: Response, isEnough: (seen: string) => boolean): Promise<string> {
  let seen = ''
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    seen += part.value
    if (isEnough(seen)) break
  }
  await reader?.cancel()
  return seen
}
