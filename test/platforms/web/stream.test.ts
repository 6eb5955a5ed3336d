/**
 * What an open page is told: first what it missed, then what happens.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHub } from '../../../platforms/web/hub.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { waitLimitMs } from '../../kit/wait-limit.ts'
import {
  createLineReader,
  fieldsOf,
  type Gateway,
  type LineReader,
  posting,
  startGateway,
  target,
  withToken,
} from './support.ts'

async function openStream(gateway: Gateway, after = '', signal?: AbortSignal): Promise<LineReader> {
  const init = { headers: withToken, ...(signal === undefined ? {} : { signal }) }
  const response = await gateway.request(`/web/stream?chat=main&after=${after}`, init)
  assert.equal(response.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
  return createLineReader(response)
}

test("a stream starts with the gateway's status, the history and a ready event", async () => {
  const gateway = await startGateway()
  gateway.store('user', 'one')
  gateway.store('agent', 'two')
  const lines = await openStream(gateway)
  assert.deepEqual(await lines.next(), { type: 'info', info: gateway.info })
  assert.match(JSON.stringify(await lines.next()), /"text":"one"/)
  assert.match(JSON.stringify(await lines.next()), /"text":"two"/)
  assert.deepEqual(await lines.next(), { type: 'ready', more: false })
  await lines.close()
})

test('a page that reconnects receives all missed entries and no others', async () => {
  const gateway = await startGateway()
  const last = gateway.store('user', 'known')
  for (let count = 0; count < 450; count += 1) gateway.store('agent', `missed ${count}`)
  const lines = await openStream(gateway, last.id)
  await lines.next()
  for (let count = 0; count < 450; count += 1) {
    assert.match(JSON.stringify(await lines.next()), new RegExp(`"missed ${count}"`))
  }
  assert.equal((await lines.next())['type'], 'ready')
  await lines.close()
})

test('a new page receives the newest entries and whether there are more', async () => {
  const gateway = await startGateway()
  for (let count = 1; count <= 100; count += 1) gateway.store('user', `line ${count}`)
  const lines = await openStream(gateway)
  await lines.next()
  assert.match(JSON.stringify(await lines.next()), /"line 41"/)
  assert.deepEqual(await lines.until('ready'), { type: 'ready', more: true })
  await lines.close()
})

test('messages and replies reach every open page with their stored ids', async () => {
  const gateway = await startGateway()
  const pages = [await openStream(gateway), await openStream(gateway)]
  for (const page of pages) await page.until('ready')
  await gateway.request('/web/messages', posting({ chat: 'main', id: 'my-own-id', text: 'Hello' }))
  await gateway.reply('Good day')
  for (const page of pages) {
    assert.match(JSON.stringify(await page.next()), /"id":"000001".*"Hello".*"messageId":"my-own-id"/)
    assert.match(JSON.stringify(await page.next()), /"id":"000002".*"Good day"/)
    await page.close()
  }
})

test('a reply that is delivered twice is shown once', async () => {
  const gateway = await startGateway()
  const lines = await openStream(gateway)
  await lines.until('ready')
  await gateway.reply('once')
  const again = { deliveryId: 'x', target, text: 'once', kind: 'reply', turnId: 't1' } as const
  assert.equal((await gateway.adapter.send(again, AbortSignal.timeout(waitLimitMs()))).success, true)
  await gateway.reply('twice')
  assert.match(JSON.stringify(await lines.next()), /"once"/)
  assert.match(JSON.stringify(await lines.next()), /"twice"/)
  await lines.close()
})

test('two entries of one millisecond are both shown, in whichever order they are stored', async () => {
  const gateway = await startGateway()
  const lines = await openStream(gateway)
  await lines.until('ready')
  gateway.store('user', 'a')
  gateway.store('user', 'b')
  await gateway.reply('later')
  gateway.insert(2, 'between')
  await gateway.reply('last')
  for (const text of ['a', 'b', 'later', 'between', 'last']) {
    assert.match(JSON.stringify(await lines.next()), new RegExp(`"${text}"`))
  }
  await lines.close()
})

test('a draft grows by its new text and is replaced by the stored reply', async () => {
  const gateway = await startGateway()
  const lines = await openStream(gateway)
  await lines.until('ready')
  await gateway.draft('d', 'Good')
  const text = (text: string) => ({ deliveryId: 'd', target, text, kind: 'draft', turnId: 't1' }) as const
  await gateway.adapter.edit?.('d', text('Good day'), false, AbortSignal.timeout(waitLimitMs()))
  await gateway.adapter.edit?.('d', text('Good day'), false, AbortSignal.timeout(waitLimitMs()))
  await gateway.adapter.edit?.('d', text('Good 😀'), false, AbortSignal.timeout(waitLimitMs()))
  await gateway.adapter.edit?.('d', text('Good 😁'), false, AbortSignal.timeout(waitLimitMs()))
  gateway.store('agent', 'Good morning', { turnId: 't1' })
  await gateway.adapter.edit?.(
    'd',
    { ...text('Good morning'), kind: 'reply' },
    true,
    AbortSignal.timeout(waitLimitMs()),
  )

  let shown = ''
  const grown = (event: Record<string, unknown>) => {
    assert.equal(event['type'], 'draft')
    shown = shown.slice(0, Number(event['at'])) + event['text']
    return shown
  }
  assert.equal(grown(await lines.next()), 'Good')
  const second = await lines.next()
  assert.deepEqual(second, { type: 'draft', id: 'd', turnId: 't1', at: 4, text: ' day' })
  assert.equal(grown(second), 'Good day')
  assert.equal(grown(await lines.next()), 'Good 😀')
  assert.equal(grown(await lines.next()), 'Good 😁')
  assert.match(JSON.stringify(await lines.next()), /"entry".*"Good morning"/)
  assert.deepEqual(await lines.next(), { type: 'draft-gone', id: 'd' })
  await lines.close()
})

test('a page that is opened during a turn receives the live state', async () => {
  const gateway = await startGateway()
  const tool = { turnId: 't1', callId: 'c1', tool: 'terminal' }
  gateway.adapter.activity?.(target, { kind: 'turn-started', turnId: 't1' })
  gateway.adapter.activity?.(target, { kind: 'tool-started', ...tool, label: 'ls' })
  gateway.adapter.activity?.(target, { kind: 'tool-ended', ...tool, ok: true, summary: '3 files' })
  await gateway.draft('d', 'So far')
  const lines = await openStream(gateway)
  await lines.next()
  assert.deepEqual(await lines.next(), { type: 'turn', turnId: 't1', state: 'running' })
  const { startedAt, endedAt, ...shown } = await lines.next()
  assert.deepEqual(shown, { type: 'tool', ...tool, label: 'ls', state: 'done', summary: '3 files' })
  assert.ok(Number(endedAt) >= Number(startedAt))
  assert.deepEqual(await lines.next(), { type: 'draft', id: 'd', turnId: 't1', at: 0, text: 'So far' })
  await lines.until('ready')
  gateway.adapter.activity?.(target, { kind: 'turn-ended', turnId: 't1', status: 'stopped' })
  assert.deepEqual(await lines.next(), { type: 'turn', turnId: 't1', state: 'stopped' })
  assert.equal((await gateway.adapter.remove?.(target, 'd', AbortSignal.timeout(waitLimitMs())))?.success, true)
  assert.deepEqual(await lines.next(), { type: 'draft-gone', id: 'd' })
  await gateway.adapter.typing?.(target, AbortSignal.timeout(waitLimitMs()))
  assert.deepEqual(await lines.next(), { type: 'typing' })
  await lines.close()
})

test('stored entries cannot be removed from the page', async () => {
  const gateway = await startGateway()
  const result = await gateway.adapter.remove?.(target, 'stored', AbortSignal.timeout(waitLimitMs()))
  assert.equal(result?.success === false && result.problem, 'rejected')
})

test('a page is disconnected when its history cannot be read', async () => {
  const gateway = await startGateway()
  const lines = await openStream(gateway)
  await lines.until('ready')
  gateway.failHistory = new Error('the database is locked')
  await gateway.reply('unreadable')
  assert.equal(await lines.ended(), true)
})

test('closed pages and stopped gateways release their resources', async () => {
  const hub = createHub({ history: async () => [], info: () => ({ ...gatewayInfo }), log: silentLog })
  const page = new AbortController()
  hub.subscribe('a', undefined, page.signal)
  const stream = hub.subscribe('b', undefined, new AbortController().signal)
  assert.equal(hub.subscriberCount(), 2)
  page.abort()
  assert.equal(hub.subscriberCount(), 1)
  await stream.cancel()
  assert.equal(hub.subscriberCount(), 0)
  hub.subscribe('c', undefined, AbortSignal.abort())
  assert.equal(hub.subscriberCount(), 0)
  hub.subscribe('c', undefined, new AbortController().signal)
  hub.close()
  hub.close()
  assert.equal(hub.subscriberCount(), 0)
})

const gatewayInfo = { version: '1', model: 'm', provider: 'p', degraded: [] as readonly string[] }

test("an idle page receives pings and changes of the gateway's status", async () => {
  let degraded: readonly string[] = []
  const hub = createHub({
    history: async () => [],
    info: () => ({ ...gatewayInfo, degraded }),
    log: silentLog,
    pingIntervalMs: 5,
  })
  const lines = createLineReader(new Response(hub.subscribe('main', undefined, new AbortController().signal)))
  await lines.until('ping')
  degraded = ['disk']
  assert.deepEqual(await lines.until('info').then((event) => event['info']), { ...gatewayInfo, degraded })
  hub.close()
})

test('a chat has at most twenty pages; the oldest is disconnected', async () => {
  const hub = createHub({ history: async () => [], info: () => gatewayInfo, log: silentLog })
  const first = createLineReader(new Response(hub.subscribe('main', undefined, new AbortController().signal)))
  await first.until('ready')
  for (let count = 0; count < 20; count += 1) hub.subscribe('main', undefined, new AbortController().signal)
  assert.equal(await first.ended(), true)
  assert.equal(hub.subscriberCount(), 20)
  hub.close()
})

test('a page that does not read its stream is disconnected', async () => {
  const hub = createHub({ history: async () => [], info: () => gatewayInfo, log: silentLog })
  const lines = createLineReader(new Response(hub.subscribe('main', undefined, new AbortController().signal)))
  await lines.until('ready')
  const text = 'x'.repeat(1_000_000)
  for (let count = 0; count < 8; count += 1) hub.publish('main', [{ type: 'draft', id: 'd', turnId: 't', at: 0, text }])
  assert.equal(hub.subscriberCount(), 0)
  hub.close()
})

test('older entries are read in pages', async () => {
  const gateway = await startGateway()
  for (let count = 1; count <= 200; count += 1) gateway.store('user', `line ${count}`)
  const seen: string[] = []
  let before = '000141'
  for (let more = true; more; ) {
    const answer = await gateway.request(`/web/history?chat=main&before=${before}`, { headers: withToken })
    const { entries, more: older } = fieldsOf(await answer.json())
    assert.ok(Array.isArray(entries))
    seen.unshift(...entries.map((entry) => String(fieldsOf(entry)['text'])))
    before = String(fieldsOf(entries[0])['id'])
    more = older === true
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 140 }, (_, index) => `line ${index + 1}`),
  )
  const unknown = await gateway.request('/web/history?chat=main&before=nothing', { headers: withToken })
  assert.deepEqual(await unknown.json(), { entries: [], tools: [], more: false })
})

test('a page is told when its conversation has a model of its own, and when that changes', async () => {
  const gateway = await startGateway()
  gateway.model = { model: 'large', provider: 'lab' }
  const lines = await openStream(gateway)
  assert.deepEqual(await lines.until('model'), { type: 'model', model: 'large', provider: 'lab' })
  delete gateway.model
  await gateway.reply('The configured model answers.')
  const { model, provider } = gateway.info
  assert.deepEqual(await lines.until('model'), { type: 'model', model, provider })
  await lines.close()
})

test('a page that is opened later receives the tools of each turn after the entries, and reads one of them on request', async () => {
  const gateway = await startGateway()
  gateway.store('user', 'go', { turnId: 't1' })
  gateway.store('agent', 'done', { turnId: 't1' })
  const call = { turnId: 't1', callId: 'call_1', tool: 'terminal', label: 'ls', summary: '3 files' }
  const stored = { ...call, state: 'done', startedAt: 5, endedAt: 9 } as const
  gateway.toolCalls.push(stored, { ...stored, turnId: 'elsewhere' })
  gateway.toolViews.set('call_1', (whole) => ({
    parts: [{ kind: 'files', files: whole ? ['a', 'b'] : ['a'] }],
    isCut: !whole,
  }))
  const lines = await openStream(gateway)
  assert.deepEqual(await lines.until('tool'), { type: 'tool', ...stored })
  assert.equal((await lines.next())['type'], 'ready')
  // A later entry does not send them again.
  await gateway.reply('more')
  assert.equal((await lines.next())['type'], 'entry')
  await lines.close()
  const older = fieldsOf(await (await gateway.request('/web/history?chat=main', { headers: withToken })).json())
  assert.deepEqual(older['tools'], [{ type: 'tool', ...stored }])
  const address = '/web/tool?chat=main&turn=t1&call=call_1'
  const short = await gateway.request(address, { headers: withToken })
  assert.deepEqual(await short.json(), { parts: [{ kind: 'files', files: ['a'] }], isCut: true })
  const whole = await gateway.request(`${address}&whole=1`, { headers: withToken })
  assert.deepEqual(await whole.json(), { parts: [{ kind: 'files', files: ['a', 'b'] }], isCut: false })
  assert.equal((await gateway.request(address)).status, 401)
  const status = async (path: string) => (await gateway.request(path, { headers: withToken })).status
  assert.equal(await status('/web/tool?chat=main&turn=t1&call=other'), 404)
  assert.equal(await status('/web/tool?chat=main&turn=t1'), 400)
  assert.equal(await status('/web/tool?chat=../x&turn=t1&call=call_1'), 400)
  assert.equal(await status('/web/tool?chat=main&turn=t%0a1&call=call_1'), 400)
})
