import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { GuardrailRejected } from '../../src/middleware/guardrail-rejected.ts'
import { describeEvents, modelCall, recordEvents, rejection, setUp, toolCall, warnings } from './support.ts'

const fault = new TypeError('no')

test('a rejected tool call runs nothing; its error names the guardrail and the reason', async () => {
  const { middleware } = setUp()
  middleware.registerGuardrail('no-secrets', 'tool', ({ args, toolName }) =>
    args['path'] === 'secrets.txt' ? `${toolName} must not read secrets` : null,
  )
  middleware.registerIntercept('never', 'tool_request', () => Promise.reject(fault))
  const error = await rejection(middleware.tool(toolCall({ args: { path: 'secrets.txt' } })))
  assert.ok(error instanceof GuardrailRejected)
  assert.equal(error.guardrail, 'no-secrets')
  assert.equal(error.reason, 'read_file must not read secrets')
  assert.equal(error.message, 'guardrail rejected: read_file must not read secrets')
})

test('the first rejection skips the remaining guardrails', async () => {
  const { middleware } = setUp()
  let asked = 0
  middleware.registerGuardrail('a', 'tool', () => 'no')
  middleware.registerGuardrail('b', 'tool', () => {
    asked += 1
    return null
  })
  await rejection(middleware.tool(toolCall()))
  assert.equal(asked, 0)
})

test('an empty string rejects the call', async () => {
  const { middleware } = setUp()
  middleware.registerGuardrail('terse', 'tool', () => '')
  assert.ok((await rejection(middleware.tool(toolCall()))) instanceof GuardrailRejected)
})

test('guardrails check the original arguments once, and again after a rewrite', async () => {
  const { middleware } = setUp()
  const looked: unknown[] = []
  middleware.registerGuardrail('look', 'tool', ({ args }) => {
    looked.push(args['path'])
    return args['path'] === '/etc/shadow' ? 'not that' : null
  })
  await middleware.tool(toolCall())
  assert.deepEqual(looked, ['notes.txt'])
  middleware.registerMiddleware('tool_request', () => ({ args: { path: '/etc/shadow' } }))
  let ran = false
  const error = await rejection(
    middleware.tool(
      toolCall({
        policy(args) {
          ran = true
          return args
        },
      }),
    ),
  )
  assert.ok(error instanceof GuardrailRejected)
  assert.equal(ran, false)
  assert.deepEqual(looked, ['notes.txt', 'notes.txt', '/etc/shadow'])
})

test('model guardrails check the request, and again after a rewrite', async () => {
  const { middleware } = setUp()
  const looked: unknown[] = []
  middleware.registerGuardrail('budget', 'model', ({ request, provider, model }) => {
    looked.push([provider, model, request['model']])
    return null
  })
  await middleware.model(modelCall(['x'], { rewrite: (request) => ({ ...request, model: 'large' }) }))
  assert.deepEqual(looked, [
    ['openai', 'gpt', 'gpt'],
    ['openai', 'gpt', 'large'],
  ])
  middleware.registerGuardrail('closed', 'model', () => 'out of budget')
  assert.ok((await rejection(middleware.model(modelCall()))) instanceof GuardrailRejected)
})

test('a guardrail that throws fails the call with its own error; registered to fail open, it is skipped', async () => {
  const { middleware, log } = setUp()
  const broken = middleware.registerGuardrail('broken', 'tool', () => Promise.reject(fault))
  assert.equal(await rejection(middleware.tool(toolCall())), fault)
  broken.remove()
  middleware.registerGuardrail('broken', 'tool', () => Promise.reject(fault), { fails: 'open' })
  assert.deepEqual(await middleware.tool(toolCall()), { path: 'notes.txt' })
  assert.equal(warnings(log).length, 1)
})

test('a verdict that is neither text nor nothing is an error that names the guardrail', async () => {
  const { middleware } = setUp()
  // A plugin without types may return such a value.
  const odd = () => JSON.parse('true')
  middleware.forPlugin('rules').registerGuardrail('odd', 'tool', odd)
  const error = await rejection(middleware.tool(toolCall()))
  assert.ok(isHermesError(error, 'middleware/bad-return'))
  assert.match(error.message, /"odd".*"rules"/)
})

test('a rejection publishes a pair of events for each evaluated guardrail and a mark, and no events of the call', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  middleware.registerGuardrail('a', 'tool', () => null)
  middleware.registerGuardrail('b', 'tool', () => 'not today')
  middleware.registerGuardrail('c', 'tool', () => null)
  await rejection(middleware.tool(toolCall()))
  await middleware.flush()
  assert.deepEqual(describeEvents(events), [
    'guardrail start a',
    'guardrail end a',
    'guardrail start b',
    'guardrail end b',
    'tool mark read_file',
  ])
  assert.deepEqual(
    events.map(({ data }) => data),
    [
      { kind: 'tool_conditional_execution', target_name: 'read_file' },
      { allowed: true, rejected: false },
      { kind: 'tool_conditional_execution', target_name: 'read_file' },
      { allowed: false, rejected: true, rejection_reason: 'not today' },
      { rejected: true, rejection_reason: 'not today' },
    ],
  )
})

test('a guardrail that throws publishes its two events with the error, and neither a mark nor events of the call', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  middleware.registerGuardrail('broken', 'model', () => Promise.reject(fault))
  await rejection(middleware.model(modelCall()))
  await middleware.flush()
  assert.deepEqual(describeEvents(events), ['guardrail start broken', 'guardrail end broken'])
  assert.deepEqual(events[0]?.data, { kind: 'llm_conditional_execution' })
  assert.deepEqual(events[1]?.data, { allowed: false, error: 'no' })
})

test('a call that a guardrail makes belongs to the guardrail', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  middleware.registerGuardrail('asks', 'model', async () => {
    await middleware.tool(toolCall({ toolName: 'classify' }))
    return null
  })
  await middleware.model(modelCall())
  await middleware.flush()
  const guardrail = events.find(({ name }) => name === 'asks')
  const nested = events.find(({ name }) => name === 'classify')
  assert.equal(nested?.parent_uuid, guardrail?.uuid)
})
