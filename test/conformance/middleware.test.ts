/**
 * What the document on middleware says of a whole call (seed 000), through the loader and the gateway.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calls, gatewayWith, notesIn } from './support.ts'

const pwd = calls(['terminal', { command: 'pwd' }])

test('each kind of middleware receives both versions of the contract, its payload and the ids of its call', async (t) => {
  const kinds = ['llm_request', 'tool_request', 'llm_execution', 'tool_execution']
  const body = kinds
    .map(
      (kind) => `ctx.registerMiddleware('${kind}', (payload) => {
        note('${kind}', [payload.telemetry_schema_version, payload.middleware_schema_version,
          Object.entries(payload).flatMap(([key, value]) => value === '' || value === undefined ? [] : [key])])
        return payload.next_call?.()
      })`,
    )
    .join('\n')
  const gateway = await gatewayWith(t, { witness: body }, { replies: [pwd, { text: 'done' }] })
  await gateway.say('where?')
  await gateway.waitForReply('done')
  const always = ['session_id', 'task_id', 'turn_id', 'api_request_id']
  const model = [...always, 'provider', 'model', 'api_mode', 'request', 'original_request']
  const tool = [...always, 'tool_name', 'tool_call_id', 'args', 'original_args']
  const expected = new Map([
    ['llm_request', model],
    ['tool_request', tool],
    ['llm_execution', [...model, 'next_call', 'middleware_trace']],
    ['tool_execution', [...tool, 'next_call', 'middleware_trace']],
  ])
  const notes = notesIn(gateway)
  for (const [kind, keys] of expected) {
    const value = notes.find(({ name }) => name === kind)?.value
    assert.ok(Array.isArray(value), kind)
    const [telemetry, middleware, found] = value
    assert.deepEqual([telemetry, middleware], ['hermes.observer.v1', 'hermes.middleware.v1'])
    assert.deepEqual(
      keys.filter((key) => !found.includes(key)),
      [],
      kind,
    )
  }
})

test('the rewritten request is sent and observed, with the trace of its rewrites', async (t) => {
  const body = `
    ctx.registerMiddleware('llm_request', ({ request }) => ({ request: { ...request, user: 'tagged' }, source: 'mine', reason: 'tagged' }))
    ctx.registerMiddleware('llm_execution', ({ request, original_request, next_call }) => {
      note('llm_execution', [request.user, original_request.user ?? null, request.stream, Array.isArray(request.messages), request.tools.length > 0])
      return next_call(request)
    })
    for (const name of ['pre_api_request', 'post_api_request'])
      ctx.registerHook(name, ({ request, middleware_trace }) => note(name, [request.user, middleware_trace]))`
  const gateway = await gatewayWith(t, { witness: body }, { replies: [{ text: 'done' }] })
  await gateway.say('hello')
  await gateway.waitForReply('done')
  assert.equal((await gateway.modelRequest(0)).body['user'], 'tagged')
  await gateway.stop()
  const trace = [{ source: 'mine', reason: 'tagged' }]
  const notes = new Map(notesIn(gateway).map(({ name, value }) => [name, value]))
  assert.deepEqual(notes.get('llm_execution'), ['tagged', null, true, true, true])
  assert.deepEqual(notes.get('pre_api_request'), ['tagged', trace])
  assert.deepEqual(notes.get('post_api_request'), ['tagged', trace])
})

test('a tool call is rewritten, checked, wrapped, run, published and transformed in this order on the same arguments', async (t) => {
  const body = `
    ctx.registerTool({ name: 'measure', description: 'Measures', parameters: { type: 'object' }, run: ({ at }) => (note('the tool', at), 'raw') })
    ctx.registerMiddleware('tool_request', ({ args }) => (note('tool_request', args.at), { args: { at: 'effective' }, source: 'mine' }))
    ctx.registerHook('pre_tool_call', ({ args, middleware_trace }) => note('pre_tool_call', [args.at, middleware_trace[0].source]))
    ctx.registerMiddleware('tool_execution', async ({ args, next_call }) => (note('tool_execution', args.at), next_call(args)))
    ctx.registerHook('post_tool_call', ({ args, result, middleware_trace }) => note('post_tool_call', [args.at, result, middleware_trace[0].source]))
    ctx.registerHook('transform_tool_result', ({ args, result }) => { note('transform_tool_result', [args.at, result]); return 'shown' })`
  const gateway = await gatewayWith(
    t,
    { witness: body },
    { replies: [calls(['measure', { at: 'asked' }]), { text: 'done' }] },
  )
  await gateway.say('measure')
  await gateway.waitForReply('done')
  assert.match(JSON.stringify((await gateway.modelRequest(1)).body), /"content":"shown"/)
  await gateway.stop()
  const notes = notesIn(gateway)
  // The call does not wait for observers: their events keep their order and are delivered later.
  assert.deepEqual(
    notes.filter(({ name }) => name !== 'post_tool_call'),
    [
      { name: 'tool_request', value: 'asked' },
      { name: 'pre_tool_call', value: ['effective', 'mine'] },
      { name: 'tool_execution', value: 'effective' },
      { name: 'the tool', value: 'effective' },
      { name: 'transform_tool_result', value: ['effective', 'raw'] },
    ],
  )
  const told = notes.find(({ name }) => name === 'post_tool_call')
  assert.deepEqual(told?.value, ['effective', 'raw', 'mine'])
})

test('the input of next reaches the inner wrappers and the tool in the order of registration', async (t) => {
  const wrapper = (word: string) =>
    `ctx.registerMiddleware('tool_execution', async ({ args, next_call }) => {
       const result = await next_call({ words: [...args.words, '${word}'] })
       return result + ' ${word}'
     })`
  const body = `
    ctx.registerTool({ name: 'say', description: 'Says', parameters: { type: 'object' }, run: ({ words }) => words.join('+') })
    ${wrapper('first')}
    ${wrapper('second')}`
  const gateway = await gatewayWith(
    t,
    { a: body, b: wrapper('third') },
    { replies: [calls(['say', { words: ['asked'] }]), { text: 'done' }] },
  )
  await gateway.say('speak')
  await gateway.waitForReply('done')
  assert.match(JSON.stringify((await gateway.modelRequest(1)).body), /asked\+first\+second\+third third second first/)
})

test('middleware runs only for enabled plugins, and is removed when its plugin is disabled', async (t) => {
  const tag = (word: string) => `
    ctx.registerMiddleware('llm_request', ({ request }) => ({ request: { ...request, user: (request.user ?? '') + '${word}' } }))
    ctx.registerIntercept('${word}', 'model_request', ({ request }) => ({ request: { ...request, user: (request.user ?? '') + '${word.toUpperCase()}' } }))`
  const gateway = await gatewayWith(t, { a: tag('a'), b: tag('b'), c: tag('c') }, { enabled: ['b', 'a'] })
  const user = async (number: number) => (await gateway.modelRequest(number)).body['user']
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  assert.equal(await user(0), 'ABab')
  gateway.configure({ plugins: { enabled: ['b'] } })
  await gateway.post('/api/plugins/reload', {})
  await gateway.say('two')
  await gateway.waitForReply('You said: two')
  assert.equal(await user(1), 'Bb')
})
