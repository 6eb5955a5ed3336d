/**
 * Runs: work that no connection waits for.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
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

type RunEvent = Record<string, unknown>

function parseEvents(text: string): RunEvent[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']): unknown => JSON.parse(data)).filter(isRecord)
}

function openEvents(api: TestApi, id: string, after?: string): Promise<Response> {
  const resumed = after === undefined ? {} : { 'last-event-id': after }
  return fetch(`${api.url}/v1/runs/${id}/events`, { headers: { authorization: `Bearer ${secret}`, ...resumed } })
}

async function eventsOf(api: TestApi, id: string, after?: string): Promise<RunEvent[]> {
  return parseEvents(await (await openEvents(api, id, after)).text())
}

/** Reads a stream until an event. Resolves with the text so far. */
async function readUntil(response: Response, name: string): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.ok(reader)
  let text = ''
  while (!text.includes(`"event":"${name}"`)) {
    const { value, done } = await reader.read()
    assert.ok(!done, text)
    text += value
  }
  await reader.cancel()
  return text
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

const approval = {
  id: 'q1',
  kind: 'approval',
  text: 'May I run `terminal`?',
  subject: { command: 'rm -r build', description: 'It deletes files.', patternKeys: ['delete'] },
  choices: ['once', 'session', 'always', 'deny'].map((answer) => ({ answer, label: answer })),
} as const

describe('a run that asks', () => {
  it('shows the approval in its state and its events, and goes on with the answer of its client', async (t) => {
    const api = await startTestApi(t)
    const { id } = await send(api, 'POST', '', { input: 'tidy up' })
    const turn = await api.next()
    assert.equal(turn.event.metadata?.['attended'], 'asks')
    await api.ask(turn, approval)
    await readUntil(await openEvents(api, id), 'approval.request')
    const { answer: waiting } = await send(api, 'GET', `/${id}`)
    assert.deepEqual([waiting['status'], waiting['last_event']], ['waiting_for_approval', 'approval.request'])
    assert.ok(isRecord(waiting['approval']))
    assert.equal(waiting['approval']['command'], 'rm -r build')
    assert.deepEqual(waiting['approval']['choices'], ['once', 'session', 'always', 'deny'])
    const answered = await send(api, 'POST', `/${id}/approval`, { choice: 'approve', request_id: 'q1' })
    assert.deepEqual(answered.answer, {
      ...{ object: 'hermes.run.approval_response', run_id: id },
      ...{ choice: 'once', request_id: 'q1', resolved: 1 },
    })
    assert.deepEqual(
      api.recording.answers.map(({ source, answer }) => [source.chatId, source.userId, answer]),
      [[turn.event.source.chatId, 'api', 'once']],
    )
    assert.equal((await send(api, 'GET', `/${id}`)).answer['status'], 'running')
    turn.end()
    const names = (await eventsOf(api, id)).map(({ event }) => event)
    assert.deepEqual(names, ['approval.request', 'approval.responded', 'run.completed'])
  })

  it('can be refused with a reason, and several questions are answered at once', async (t) => {
    const api = await startTestApi(t)
    const { id } = await send(api, 'POST', '', { input: 'tidy up' })
    const turn = await api.next()
    await api.ask(turn, approval)
    await api.ask(turn, { ...approval, id: 'q2' })
    const { answer } = await send(api, 'POST', `/${id}/approval`, { choice: 'deny', all: true, reason: 'not today' })
    assert.equal(answer['resolved'], 2)
    assert.deepEqual(
      api.recording.answers.map(({ id, answer, text }) => [id, answer, text]),
      [
        ['q1', 'deny', 'not today'],
        ['q2', 'deny', 'not today'],
      ],
    )
  })

  it('takes an answer to a question of the agent in own words', async (t) => {
    const api = await startTestApi(t)
    const { id } = await send(api, 'POST', '', { input: 'paint' })
    const turn = await api.next()
    await api.ask(turn, { id: 'c1', kind: 'clarify', text: 'Which?', choices: [{ answer: 'choice-0', label: 'red' }] })
    const { answer: waiting } = await send(api, 'GET', `/${id}`)
    assert.ok(isRecord(waiting['clarify']))
    assert.deepEqual(
      [waiting['status'], waiting['clarify']['question'], waiting['clarify']['choices']],
      ['running', 'Which?', ['red']],
    )
    const { answer } = await send(api, 'POST', `/${id}/clarify`, { clarify_id: 'c1', response: 'a dark violet' })
    assert.deepEqual([answer['object'], answer['resolved']], ['hermes.run.clarify_response', true])
    assert.equal(api.recording.answers[0]?.text, 'a dark violet')
  })

  it('says that a question has ended without its client', async (t) => {
    const api = await startTestApi(t)
    const { id } = await send(api, 'POST', '', { input: 'tidy up' })
    const turn = await api.next()
    await api.ask(turn, approval)
    await readUntil(await openEvents(api, id), 'approval.request')
    api.recording.questions.length = 0
    const expired = { target: turn.target, deliveryId: 'x', kind: 'notice' as const, text: 'No answer in time.' }
    await api.adapter.send(expired, new AbortController().signal)
    await readUntil(await openEvents(api, id), 'approval.closed')
  })

  it('refuses answers that fit no open question of this run', async (t) => {
    const api = await startTestApi(t)
    const { id } = await send(api, 'POST', '', { input: 'one', session_id: 'same' })
    const { id: other } = await send(api, 'POST', '', { input: 'two', session_id: 'same' })
    const turn = await api.next()
    await api.ask(turn, { ...approval, choices: [{ answer: 'once', label: 'Allow once' }] })
    for (const [path, body, status, code] of [
      [`/${other}/approval`, { choice: 'once' }, 409, 'approval_not_pending'],
      [`/${id}/approval`, { choice: 'once', request_id: 'q9' }, 409, 'approval_not_pending'],
      [`/${id}/approval`, { choice: 'maybe' }, 400, 'invalid_approval_choice'],
      [`/${id}/approval`, { choice: 'always' }, 400, 'invalid_approval_choice'],
      [`/${id}/approval`, {}, 400, 'invalid_value'],
      [`/${id}/clarify`, { response: 'red' }, 409, 'clarify_not_pending'],
      [`/${id}/clarify`, { response: ' ' }, 400, 'invalid_value'],
      ['/run_1/approval', { choice: 'once' }, 404, 'run_not_found'],
    ] as const) {
      const refused = await send(api, 'POST', path, body)
      assert.deepEqual([refused.status, refused.code], [status, code], path)
    }
    assert.deepEqual(api.recording.answers, [])
  })

  it('is not asked when its client says that it answers nothing', async (t) => {
    const api = await startTestApi(t)
    await send(api, 'POST', '', { input: 'tidy up', attended: false })
    assert.equal((await api.next()).event.metadata?.['attended'], 'no')
  })
})

it('a reader continues after the last event that it has read', async (t) => {
  const api = await startTestApi(t)
  const { id } = await send(api, 'POST', '', { input: 'hello' })
  const turn = await api.next()
  await turn.draft('Let me')
  await turn.interim('Let me see.')
  const first = await readUntil(await openEvents(api, id), 'message.interim')
  const after = [...first.matchAll(/^id: (.*)$/gm)].at(-1)?.[1]
  assert.ok(after)
  await turn.draft('It is')
  turn.end({ text: 'It is noon.' })
  const rest = await openEvents(api, id, after)
  const text = await rest.text()
  assert.deepEqual(
    parseEvents(text).map(({ event }) => event),
    ['message.delta', 'run.completed'],
  )
  const last = [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1]
  assert.equal((await openEvents(api, id, last)).status, 204)
})

it('a reader of a run whose events are gone is told so', async (t) => {
  const api = await startTestApi(t)
  const { id } = await send(api, 'POST', '', { input: 'hello' })
  const turn = await api.next()
  // The gateway stops and starts: the run goes on.
  await api.restart()
  const events = eventsOf(api, id, '0a0b0c0d-7-0')
  turn.end({ text: 'Noon.' })
  assert.deepEqual(
    (await events).map(({ event, missed }) => [event, missed]),
    [
      ['events.missed', true],
      ['run.completed', undefined],
    ],
  )
})

it('the runs are listed in pages', async (t) => {
  const api = await startTestApi(t)
  const ids: string[] = []
  for (const input of ['one', 'two', 'three']) ids.push((await send(api, 'POST', '', { input })).id)
  api.refuseWith({ status: 'refused', reason: 'not today' })
  await send(api, 'POST', '', { input: 'four' })
  const idsOf = ({ answer }: { answer: Record<string, unknown> }) =>
    Array.isArray(answer['data']) ? answer['data'].map((run) => String(run.run_id)) : []
  const first = await send(api, 'GET', '?limit=2')
  assert.deepEqual([first.answer['object'], first.answer['has_more']], ['list', true])
  const second = await send(api, 'GET', `?limit=2&cursor=${first.answer['next_cursor']}`)
  assert.deepEqual([second.answer['has_more'], second.answer['next_cursor']], [false, null])
  assert.deepEqual([...idsOf(first), ...idsOf(second)].sort(), [...ids].sort())
  for (const query of ['?limit=0', '?limit=many', '?cursor=abc'])
    assert.equal((await send(api, 'GET', query)).status, 400, query)
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
