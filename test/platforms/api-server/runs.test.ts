/**
 * Runs: work that no connection waits for.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isRecord } from '../../../src/lib/json.ts'
import { secret } from '../../http/support.ts'
import { startTestApi, type TestApi } from './support.ts'

async function send(api: TestApi, method: 'GET' | 'POST', path: string, body?: unknown, more = {}) {
  const response = await fetch(`${api.url}/v1/runs${path}`, {
    method,
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...more },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer: unknown = await response.json()
  assert.ok(isRecord(answer))
  const error = isRecord(answer['error']) ? answer['error'] : {}
  return { status: response.status, answer, id: String(answer['run_id']), code: error['code'], param: error['param'] }
}

async function eventsOf(api: TestApi, id: string): Promise<Record<string, unknown>[]> {
  const headers = { authorization: `Bearer ${secret}` }
  const text = await (await fetch(`${api.url}/v1/runs/${id}/events`, { headers })).text()
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event): unknown => JSON.parse(event.slice(6)))
    .filter(isRecord)
}

it('a run is accepted at once, and its state can be read', async (t) => {
  const api = await startTestApi(t)
  const { status, id, answer } = await send(api, 'POST', '', { input: 'tidy up', session_id: 'house' })
  assert.equal(status, 202)
  assert.match(id, /^run_[0-9a-f]{32}$/)
  assert.equal(answer['session_id'], 'house')
  const turn = await api.next()
  assert.equal(turn.event.source.chatId, 'house')
  assert.equal((await send(api, 'GET', `/${id}`)).answer['status'], 'running')
  turn.end({ text: 'Tidy.' })
  const { answer: ended } = await send(api, 'GET', `/${id}`)
  assert.deepEqual(
    [ended['object'], ended['status'], ended['output'], ended['last_event']],
    ['hermes.run', 'completed', 'Tidy.', 'run.completed'],
  )
})

it('the events of a run reach readers that come late', async (t) => {
  const api = await startTestApi(t)
  const { id } = await send(api, 'POST', '', { input: 'hello' })
  const turn = await api.next()
  await turn.draft('Let me')
  await turn.draft('Let me see')
  await turn.interim('Let me see.')
  const early = eventsOf(api, id)
  await turn.draft('It is')
  turn.end({ text: 'It is noon.' })
  for (const events of [await early, await eventsOf(api, id)]) {
    assert.ok(events.every((event) => event['run_id'] === id))
    assert.equal(events[0]?.['event'], 'message.delta')
    assert.equal(events.filter(({ event }) => event === 'message.interim').length, 1)
    assert.deepEqual([events.at(-1)?.['event'], events.at(-1)?.['output']], ['run.completed', 'It is noon.'])
  }
})

it('a run can be stopped, and stopping it again changes nothing', async (t) => {
  const api = await startTestApi(t)
  const { id } = await send(api, 'POST', '', { input: 'hello' })
  const { seq } = await api.next()
  assert.equal((await send(api, 'POST', `/${id}/stop`)).answer['status'], 'stopping')
  assert.deepEqual(api.stops, [seq])
  assert.equal((await send(api, 'POST', `/${id}/cancel`)).answer['status'], 'cancelled')
  assert.deepEqual(api.stops, [seq])
  assert.equal((await eventsOf(api, id)).at(-1)?.['event'], 'run.cancelled')
})

it('a run that failed says why', async (t) => {
  const api = await startTestApi(t)
  const { id } = await send(api, 'POST', '', { input: 'hello' })
  const turn = await api.next()
  turn.end({ status: 'failed', text: 'No credit.', errorCode: 'provider/auth' })
  const { answer } = await send(api, 'GET', `/${id}`)
  assert.deepEqual([answer['status'], answer['error'], answer['code']], ['failed', 'No credit.', 'provider/auth'])
})

it('more runs than allowed are refused until one has ended', async (t) => {
  const api = await startTestApi(t, { maxRuns: 1 })
  const { id } = await send(api, 'POST', '', { input: 'one' })
  const first = await api.next()
  const refused = await send(api, 'POST', '', { input: 'two' })
  assert.deepEqual([refused.status, refused.code], [429, 'rate_limit_exceeded'])
  first.end()
  await eventsOf(api, id)
  assert.equal((await send(api, 'POST', '', { input: 'three' })).status, 202)
})

it('a run that is requested twice with an Idempotency-Key is one run', async (t) => {
  const api = await startTestApi(t)
  const key = { 'idempotency-key': 'order-66' }
  const first = await send(api, 'POST', '', { input: 'charge the card' }, key)
  assert.equal((await send(api, 'POST', '', { input: 'charge the card' }, key)).id, first.id)
})

it('a run that the gateway does not accept leaves nothing behind', async (t) => {
  const api = await startTestApi(t, { maxRuns: 1 })
  api.refuseWith({ status: 'refused', reason: 'not today' })
  assert.equal((await send(api, 'POST', '', { input: 'one' })).status, 403)
  assert.equal((await send(api, 'POST', '', { input: 'two' })).status, 202)
})

it('unknown runs and paths are a 404, and invalid bodies a 400 with the field', async (t) => {
  const api = await startTestApi(t)
  assert.equal((await send(api, 'GET', '/run_1')).code, 'run_not_found')
  assert.equal((await send(api, 'GET', '/run_1/events')).code, 'run_not_found')
  assert.equal((await send(api, 'POST', '/run_1/stop')).code, 'run_not_found')
  assert.equal((await send(api, 'POST', '/run_1/explode')).status, 404)
  const bodies: readonly [unknown, string][] = [
    [{}, 'input'],
    [{ input: 'a', session_id: 'a b' }, 'session_id'],
    [{ input: 'a', conversation_history: 'b' }, 'conversation_history'],
    [{ input: 'a', previous_response_id: 'run_1' }, 'previous_response_id'],
  ]
  for (const [body, param] of bodies) {
    const refused = await send(api, 'POST', '', body)
    assert.deepEqual([refused.status, refused.param], [400, param])
  }
})
