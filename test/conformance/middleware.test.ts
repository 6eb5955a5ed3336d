/**
 * What the document on middleware says of a whole call (seed 000), through the loader and the gateway.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { path, python, withoutPython } from '../hosts/support.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
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
  assert.match(
    JSON.stringify((await gateway.modelRequest(1)).body),
    /"content":"<tool_output>\\nshown\\n<\/tool_output>"/,
  )
  await gateway.stop()
  assert.deepEqual(notesIn(gateway), [
    { name: 'tool_request', value: 'asked' },
    { name: 'pre_tool_call', value: ['effective', 'mine'] },
    { name: 'tool_execution', value: 'effective' },
    { name: 'the tool', value: 'effective' },
    { name: 'post_tool_call', value: ['effective', 'raw', 'mine'] },
    { name: 'transform_tool_result', value: ['effective', 'raw'] },
  ])
})

test('a model call is rewritten, published, wrapped and published in this order', async (t) => {
  const body = `
    ctx.registerMiddleware('llm_request', () => note('llm_request'))
    ctx.registerHook('pre_api_request', () => note('pre_api_request'))
    ctx.registerMiddleware('llm_execution', async ({ next_call }) => {
      note('llm_execution')
      const response = await next_call()
      note('llm_execution after')
      return response
    })
    ctx.registerHook('post_api_request', () => note('post_api_request'))`
  const gateway = await gatewayWith(t, { witness: body }, { replies: [{ text: 'done' }] })
  await gateway.say('measure')
  await gateway.waitForReply('done')
  await gateway.stop()
  assert.deepEqual(
    notesIn(gateway).map(({ name }) => name),
    ['llm_request', 'pre_api_request', 'llm_execution', 'llm_execution after', 'post_api_request'],
  )
})

test('a plugin in Python sees the steps of a model call and of a tool call in the same order', {
  skip: withoutPython,
}, async (t) => {
  const steps = [
    ['middleware', 'llm_request'],
    ['hook', 'pre_api_request'],
    ['middleware', 'llm_execution'],
    ['hook', 'post_api_request'],
    ['middleware', 'tool_request'],
    ['hook', 'pre_tool_call'],
    ['middleware', 'tool_execution'],
    ['hook', 'post_tool_call'],
    ['hook', 'transform_tool_result'],
  ] as const
  const gateway = await startTestGateway(t, {
    config: { plugins: { enabled: ['witness'] }, ...(python === undefined ? {} : { hooks: { python } }) },
    prepare: ({ root }) => {
      const folder = join(root, 'plugins', 'witness')
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(join(folder, 'plugin.yaml'), 'name: witness\nversion: 1.0.0\n', { mode: 0o600 })
      const functions = steps.map(
        ([, name]) =>
          `def ${name}(next_call=None, **_):\n    with open(${JSON.stringify(join(root, 'steps'))}, "a") as file: file.write("${name}\\n")\n    return next_call() if next_call else None\n`,
      )
      const registrations = steps.map(([kind, name]) => `    ctx.register_${kind}("${name}", ${name})`)
      const text = `${functions.join('')}def register(ctx):\n${registrations.join('\n')}\n`
      writeFileSync(join(folder, '__init__.py'), text, { mode: 0o600 })
    },
    replies: [pwd, { text: 'done' }],
    gateway: { environment: { PATH: path } },
  })
  await gateway.say('measure')
  await gateway.waitForReply('done')
  await gateway.stop()
  const seen = readFileSync(join(gateway.home.root, 'steps'), 'utf8').trim().split('\n')
  assert.deepEqual(
    seen.slice(0, steps.length),
    steps.map(([, name]) => name),
  )
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
