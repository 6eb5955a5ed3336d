import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManagedEvent } from '../../src/middleware/contract.ts'
import { describeEvents, modelCall, recordEvents, rejection, setUp, toolCall } from './support.ts'

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('a tool call is a start and an end with the same uuid, name, parent and profile', async () => {
  let us = 1_767_323_045_123_456
  const { middleware } = setUp({ now: () => us++ })
  const events = recordEvents(middleware)
  await middleware.tool(toolCall({ fields: () => ({ session_id: 's1' }), handler: async () => ({ lines: 3 }) }))
  await middleware.flush()
  assert.deepEqual(describeEvents(events), ['tool start read_file', 'tool end read_file'])
  const [start, end] = events
  assert.match(start?.uuid ?? '', uuid7)
  assert.equal(end?.uuid, start?.uuid)
  assert.equal(start?.parent_uuid, null)
  assert.deepEqual(start?.data, { path: 'notes.txt' })
  assert.deepEqual(end?.data, { lines: 3 })
  assert.deepEqual(start?.metadata, { session_id: 's1' })
  assert.deepEqual(end?.metadata, { session_id: 's1', 'otel.status_code': 'OK' })
  assert.deepEqual(end?.category_profile, { tool_call_id: 'call-1' })
})

test('an event serialises as ATOF writes it', async () => {
  const { middleware } = setUp({ now: () => 1_767_323_045_123_456, newId: () => 'an-id' })
  const events = recordEvents(middleware)
  await middleware.tool(toolCall())
  middleware.currentScope().mark('note')
  await middleware.flush()
  assert.deepEqual(JSON.parse(JSON.stringify(events)), [
    {
      kind: 'scope',
      atof_version: '0.1',
      uuid: 'an-id',
      parent_uuid: null,
      timestamp: '2026-01-02T03:04:05.123456Z',
      name: 'read_file',
      scope_category: 'start',
      category: 'tool',
      category_profile: { tool_call_id: 'call-1' },
      attributes: [],
      data: { path: 'notes.txt' },
      data_schema: null,
      metadata: {},
    },
    {
      kind: 'scope',
      atof_version: '0.1',
      uuid: 'an-id',
      parent_uuid: null,
      timestamp: '2026-01-02T03:04:05.123457Z',
      name: 'read_file',
      scope_category: 'end',
      category: 'tool',
      category_profile: { tool_call_id: 'call-1' },
      attributes: [],
      data: { path: 'notes.txt' },
      data_schema: null,
      metadata: { 'otel.status_code': 'OK' },
    },
    {
      kind: 'mark',
      atof_version: '0.1',
      uuid: 'an-id',
      parent_uuid: null,
      timestamp: '2026-01-02T03:04:05.123456Z',
      name: 'note',
      category: 'agent',
      category_profile: null,
      data: null,
      data_schema: null,
      metadata: null,
    },
  ])
})

test('the end event is later than the start event even if the clock stands still', async () => {
  const { middleware } = setUp({ now: () => 5_000 })
  const events = recordEvents(middleware)
  await middleware.tool(toolCall())
  await middleware.flush()
  assert.deepEqual(
    events.map(({ timestampUs }) => timestampUs),
    [5_000, 5_001],
  )
})

test('the end event of a failed call carries the failure and no result; the error stays the same object', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  const fault = Object.assign(new RangeError('too far'), { name: 'ModelError', kind: 'rate-limit' })
  assert.equal(await rejection(middleware.tool(toolCall({ handler: () => Promise.reject(fault) }))), fault)
  await middleware.flush()
  assert.equal(events[1]?.data, null)
  assert.deepEqual(events[1]?.metadata, {
    'otel.status_code': 'ERROR',
    'otel.status_description': 'too far',
    'error.type': 'retryable_status',
    'exception.type': 'RangeError',
  })
})

test('the start shows the effective arguments, the model of the effective request, and marks that intercepts left', async () => {
  const { middleware } = setUp({ now: () => 1_000 })
  const events = recordEvents(middleware)
  middleware.registerIntercept('route', 'model_request', ({ request }) => ({
    request: { ...request, model: 'large' },
    pendingMarks: [{ name: 'routed', data: { to: 'large' } }],
  }))
  await middleware.model(modelCall())
  await middleware.flush()
  assert.deepEqual(describeEvents(events), ['llm start openai', 'llm mark routed', 'llm end openai'])
  const [start, mark] = events
  assert.deepEqual(start?.data, { model: 'large', messages: [{ role: 'user', content: 'hi' }] })
  assert.deepEqual(start?.category_profile, { model_name: 'large' })
  assert.deepEqual(mark?.data, { to: 'large' })
  assert.equal(mark?.timestampUs, 1_001)
  assert.equal(mark?.parent_uuid, start?.uuid)
})

test('later changes of arguments and results do not change events', async () => {
  const { middleware } = setUp()
  const seen: string[] = []
  middleware.registerSubscriber('late', async (event) => {
    await Promise.resolve()
    seen.push(JSON.stringify(event.data))
  })
  const args = { list: [1] }
  const result = { lines: [1] }
  await middleware.tool(
    toolCall({
      args,
      async handler() {
        args.list.push(2)
        return result
      },
    }),
  )
  result.lines.push(2)
  await middleware.flush()
  assert.deepEqual(seen, ['{"list":[1]}', '{"lines":[1]}'])
})

test('credential headers are removed from events but sent to the provider', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  const names = [
    'Authorization',
    'proxy-authorization',
    'COOKIE',
    'x-api-key',
    'Api-Key',
    'anthropic-api-key',
    'x-goog-api-key',
  ]
  const headers = Object.fromEntries([...names, 'x-title'].map((name) => [name, 'value']))
  const request = {
    model: 'gpt',
    extra_headers: headers,
    nested: [{ headers: new Headers({ cookie: 'a=b', 'x-title': 't' }) }],
  }
  let got: unknown
  await middleware.model(
    modelCall([], {
      request,
      async *stream(given) {
        got = given['extra_headers']
        yield ''
        return ''
      },
    }),
  )
  await middleware.flush()
  assert.equal(got, headers)
  assert.deepEqual(events[0]?.data, {
    model: 'gpt',
    extra_headers: { 'x-title': 'value' },
    nested: [{ headers: { 'x-title': 't' } }],
  })
})

test('a subscriber added during a call receives neither of its events; one removed during it receives both', async () => {
  const { middleware } = setUp()
  const received: string[] = []
  const removed = middleware.registerSubscriber(
    'removed',
    (event) => void received.push(`removed ${event.scope_category}`),
  )
  await middleware.tool(
    toolCall({
      async handler() {
        removed.remove()
        middleware.registerSubscriber('added', (event) => void received.push(`added ${event.scope_category}`))
      },
    }),
  )
  await middleware.flush()
  assert.deepEqual(received, ['removed start', 'removed end'])
})

test('without subscribers there are no ids, no fields and no events', async () => {
  let ids = 0
  const { middleware } = setUp({
    newId: () => {
      ids += 1
      return 'id'
    },
  })
  middleware.registerMiddleware('llm_execution', ({ next_call }) => next_call())
  let asked = 0
  const fields = () => {
    asked += 1
    return {}
  }
  await middleware.scope({ name: 'turn' }, async (turn) => {
    turn.mark('nothing')
    await middleware.tool(toolCall({ fields }))
  })
  assert.equal(ids, 0)
  assert.equal(asked, 0)
  assert.deepEqual(middleware.eventCounts(), { waiting: 0, delivered: 0, dropped: 0 })
})

test('the fields of a call are computed once for all subscribers', async () => {
  const { middleware } = setUp()
  let asked = 0
  recordEvents(middleware)
  for (let turn = 0; turn < 2; turn++) {
    middleware.registerMiddleware('tool_request', (payload) => void payload['session_id'])
    middleware.registerIntercept(`i${turn}`, 'tool_execution', ({ fields }, next) =>
      fields['session_id'] === 's1' ? next() : null,
    )
  }
  const fields = () => {
    asked += 1
    return { session_id: 's1' }
  }
  assert.deepEqual(await middleware.tool(toolCall({ fields })), { path: 'notes.txt' })
  assert.equal(asked, 1)
})

test('the real clock gives times with microseconds, in order', async () => {
  const { middleware } = setUp()
  const events: ManagedEvent[] = recordEvents(middleware)
  for (let call = 0; call < 3; call++) await middleware.tool(toolCall())
  await middleware.flush()
  const times = events.map(({ timestampUs }) => timestampUs)
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  )
  for (const { timestamp } of events) assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  assert.equal(new Set(events.map(({ uuid }) => uuid)).size, 3)
})
