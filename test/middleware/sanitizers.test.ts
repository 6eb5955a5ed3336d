import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelCall, recordEvents, setUp, toolCall, warnings } from './support.ts'

test('sanitizers change the events in order, and never the call', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  const hide = (key: string) => (payload: unknown) => ({ ...Object(payload), [key]: 'hidden' })
  middleware.registerSanitizer('z', 'tool_request', hide('path'), { priority: -1 })
  middleware.registerSanitizer('a', 'tool_request', async (payload, { toolName }) => ({ ...Object(payload), toolName }))
  middleware.registerSanitizer('out', 'tool_response', hide('lines'))
  const call = toolCall({ handler: async (args) => ({ ...args, lines: 3 }) })
  assert.deepEqual(await middleware.tool(call), { path: 'notes.txt', lines: 3 })
  await middleware.flush()
  assert.deepEqual(events[0]?.data, { path: 'hidden', toolName: 'read_file' })
  assert.deepEqual(events[1]?.data, { path: 'notes.txt', lines: 'hidden' })
})

test('sanitizers of models know provider and model', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  middleware.registerSanitizer('in', 'model_request', (_payload, { provider, model }) => `${provider} ${model}`)
  middleware.registerSanitizer('out', 'model_response', (payload) => `${payload}!`)
  assert.equal(await middleware.model(modelCall()), 'Hello')
  await middleware.flush()
  assert.deepEqual(
    events.map(({ data }) => data),
    ['openai gpt', 'Hello!'],
  )
})

for (const [what, sanitizer] of [
  ['returns null', () => null],
  ['returns undefined', () => undefined],
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
] as const) {
  test(`a sanitizer that ${what} leaves the payload out and those after it are skipped`, async () => {
    const { middleware } = setUp()
    const events = recordEvents(middleware)
    middleware.registerSanitizer('a', 'tool_request', sanitizer)
    middleware.registerSanitizer('b', 'tool_request', () => 'put back')
    assert.deepEqual(await middleware.tool(toolCall()), { path: 'notes.txt' })
    await middleware.flush()
    assert.equal(events[0]?.data, null)
  })
}

test('event sanitizers replace data, profile and metadata of their kind of event', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  const only = (data: string) => () => ({ data, category_profile: null, metadata: { kept: true } })
  middleware.registerSanitizer('s', 'scope_start', only('start'))
  middleware.registerSanitizer('e', 'scope_end', only('end'))
  middleware.registerSanitizer('m', 'mark', only('mark'))
  await middleware.tool(toolCall({ handler: async () => middleware.currentScope().mark('note', { secret: 1 }) }))
  await middleware.flush()
  assert.deepEqual(
    events.map(({ data, category_profile, metadata }) => ({ data, category_profile, metadata })),
    ['start', 'mark', 'end'].map((data) => ({ data, category_profile: null, metadata: { kept: true } })),
  )
})

test('payload sanitizers come before event sanitizers', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  middleware.registerSanitizer('payload', 'tool_request', () => 'clean')
  middleware.registerSanitizer('event', 'scope_start', (event, parts) => ({
    ...parts,
    data: `${event.name} ${parts.data}`,
  }))
  await middleware.tool(toolCall())
  await middleware.flush()
  assert.equal(events[0]?.data, 'read_file clean')
})

test('an event sanitizer that throws or returns nothing removes data, profile and metadata', async () => {
  const { middleware, log } = setUp()
  const events = recordEvents(middleware)
  middleware.registerSanitizer('throws', 'scope_start', () => {
    throw new Error('no')
  })
  middleware.registerSanitizer('forgets', 'scope_end', () => JSON.parse('null'))
  await middleware.tool(toolCall({ fields: () => ({ session_id: 's1' }) }))
  await middleware.flush()
  for (const { data, category_profile, metadata } of events)
    assert.deepEqual({ data, category_profile, metadata }, { data: null, category_profile: null, metadata: null })
  assert.equal(warnings(log).length, 2)
})

test('the sanitizers of a scope also apply to its end event, and are removed after it', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  await middleware.scope({ name: 'turn' }, async (turn) => {
    turn.registerSanitizer('own', 'scope_end', (_event, parts) => ({ ...parts, data: 'own' }))
  })
  await middleware.scope({ name: 'next' }, async () => undefined)
  await middleware.flush()
  assert.deepEqual(
    events.filter(({ scope_category }) => scope_category === 'end').map(({ data }) => data),
    ['own', null],
  )
})

test('without a subscriber no sanitizer runs', async () => {
  const { middleware } = setUp()
  let ran = 0
  middleware.registerSanitizer('s', 'tool_request', () => {
    ran += 1
    return null
  })
  await middleware.tool(toolCall())
  await middleware.flush()
  assert.equal(ran, 0)
})
