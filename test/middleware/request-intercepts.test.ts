import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import type { Fields } from '../../src/middleware/contract.ts'
import type { RewriteTrace } from '../../src/middleware/managed-call.ts'
import { modelCall, recordEvents, rejection, setUp, toolCall, warnings } from './support.ts'

const fault = new TypeError('no')

test('each rewrite receives the result of the previous one, while original_args stays', async () => {
  const { middleware } = setUp()
  const originals: unknown[] = []
  for (const step of ['b', 'c', 'd'])
    middleware.registerMiddleware('tool_request', ({ args, original_args }) => {
      originals.push(original_args)
      return { args: { path: `${args['path']}${step}` } }
    })
  assert.deepEqual(await middleware.tool(toolCall({ args: { path: 'a' } })), { path: 'abcd' })
  assert.deepEqual(originals, [{ path: 'a' }, { path: 'a' }, { path: 'a' }])
})

test('changes in place by a request callback are ignored unless it returns them', async () => {
  const { middleware } = setUp()
  const args = { list: [1] }
  const seen: unknown[] = []
  for (let turn = 0; turn < 2; turn++)
    middleware.registerMiddleware('tool_request', (payload) => {
      seen.push(structuredClone(payload.args))
      const { list } = payload.args
      if (Array.isArray(list)) list.push(2)
      return null
    })
  assert.equal(await middleware.tool(toolCall({ args })), args, 'the very same object')
  assert.deepEqual(seen, [{ list: [1] }, { list: [1] }])
})

test('original_args is frozen', async () => {
  const { middleware, log } = setUp()
  middleware.registerMiddleware('tool_request', ({ original_args }) => {
    Object.assign(original_args, { path: 'elsewhere' })
    return null
  })
  let original: unknown
  middleware.registerMiddleware('tool_request', (payload) => {
    original = payload.original_args
    return null
  })
  await middleware.tool(toolCall())
  assert.deepEqual(original, { path: 'notes.txt' })
  assert.equal(warnings(log).length, 1, 'the attempt is logged')
})

for (const [what, answer] of [
  ['null', null],
  ['undefined', undefined],
  ['an object without args', { source: 'me' }],
  ['args that are null', { args: null }],
  ['args that are a list', { args: [] }],
  ['args that are a text', { args: 'path' }],
  ['a text', 'args'],
] as const) {
  test(`${what} from tool_request means no change`, async () => {
    const { middleware } = setUp()
    const wrong = () => JSON.parse(JSON.stringify({ answer: answer ?? null })).answer
    middleware.registerMiddleware('tool_request', answer === undefined ? () => undefined : wrong)
    let trace: RewriteTrace | undefined
    const call = toolCall({
      policy(args, given) {
        trace = given
        return args
      },
    })
    assert.equal(await middleware.tool(call), call.args)
    assert.deepEqual(trace, [])
  })
}

test('the trace contains the texts that are not empty, and "plugin" where there are none', async () => {
  const { middleware } = setUp()
  const args = {}
  middleware.registerMiddleware('tool_request', () => ({ args, source: 'a', reason: '', name: 'n' }))
  middleware.registerMiddleware('tool_request', () => ({ args }))
  middleware.registerMiddleware('tool_request', () => ({ args, ...JSON.parse('{"source": 3, "reason": null}') }))
  let trace: RewriteTrace | undefined
  await middleware.tool(
    toolCall({
      policy(effective, given) {
        trace = given
        return effective
      },
    }),
  )
  assert.deepEqual(trace, [{ source: 'a', name: 'n' }, { source: 'plugin' }, { source: 'plugin' }])
})

test('a tool_request callback that throws is skipped with a warning; registered to fail closed, it fails the call', async () => {
  const { middleware, log } = setUp()
  const first = middleware.registerMiddleware('tool_request', () => Promise.reject(fault))
  middleware.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, more: 1 } }))
  assert.deepEqual(await middleware.tool(toolCall()), { path: 'notes.txt', more: 1 })
  assert.equal(warnings(log).length, 1)
  first.remove()
  middleware.registerMiddleware('tool_request', () => Promise.reject(fault), { fails: 'closed' })
  assert.equal(await rejection(middleware.tool(toolCall())), fault)
})

test('a request intercept that throws fails the call with its own error and publishes an event', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  middleware.forPlugin('paths').registerIntercept('absolute', 'tool_request', () => Promise.reject(fault))
  let ran = false
  const handler = async () => {
    ran = true
  }
  assert.equal(await rejection(middleware.tool(toolCall({ handler }))), fault)
  assert.equal(ran, false)
  await middleware.flush()
  const [event] = events
  assert.equal(events.length, 1)
  assert.equal(event?.kind, 'mark')
  assert.equal(event?.name, 'read_file')
  assert.deepEqual(event?.data, { kind: 'tool_request', intercept: 'absolute', plugin: 'paths', error: 'no' })
  assert.equal(event?.metadata?.['otel.status_code'], 'ERROR')
  assert.equal(event?.metadata?.['exception.type'], 'TypeError')
})

test('a tool_request callback that throws publishes an event, too', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  middleware.forPlugin('paths').registerMiddleware('tool_request', function shorten() {
    throw fault
  })
  await middleware.tool(toolCall())
  await middleware.flush()
  assert.equal(events.length, 3)
  assert.deepEqual(events[0]?.data, { kind: 'tool_request', intercept: 'shorten', plugin: 'paths', error: 'no' })
})

test('undefined from a request intercept is an error that names plugin and intercept', async () => {
  const { middleware } = setUp()
  // A plugin without types may return nothing.
  const forgetful = () => JSON.parse('{}').nothing
  middleware.forPlugin('paths').registerIntercept('absolute', 'tool_request', forgetful)
  const error = await rejection(middleware.tool(toolCall()))
  assert.ok(isHermesError(error, 'middleware/bad-return'))
  assert.match(error.message, /"absolute".*"paths"/)
  middleware.forPlugin('paths').registerIntercept('headers', 'model_request', forgetful)
  const other = await rejection(middleware.model(modelCall()))
  assert.ok(isHermesError(other, 'middleware/bad-return'))
  assert.match(other.message, /"headers".*"paths"/)
})

test('a request intercept that fails open is skipped and its changes are discarded', async () => {
  const { middleware, log } = setUp()
  middleware.registerIntercept(
    'half',
    'tool_request',
    ({ args }) => {
      Object.assign(args, { path: 'half done' })
      throw fault
    },
    { fails: 'open' },
  )
  const call = toolCall()
  assert.equal(await middleware.tool(call), call.args)
  assert.equal(warnings(log).length, 1)
})

test('breakChain keeps its own output and skips the request intercepts after it, not the Hermes kind', async () => {
  const { middleware } = setUp()
  const add =
    (key: string) =>
    ({ args }: { readonly args: Fields }) => ({ ...args, [key]: true })
  middleware.registerIntercept('a', 'tool_request', add('a'))
  middleware.registerIntercept('b', 'tool_request', add('b'), { breakChain: true })
  middleware.registerIntercept('c', 'tool_request', add('c'))
  middleware.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, hermes: true } }))
  assert.deepEqual(await middleware.tool(toolCall({ args: {} })), { a: true, b: true, hermes: true })
})

test('an intercept that changes its arguments in place does not change those of the caller, and guardrails check again', async () => {
  const { middleware } = setUp()
  const looked: unknown[] = []
  middleware.registerGuardrail('look', 'tool', ({ args }) => void looked.push(args['path']))
  middleware.registerIntercept('smuggler', 'tool_request', ({ args }) => Object.assign(args, { path: '/etc/passwd' }))
  const call = toolCall()
  assert.deepEqual(await middleware.tool(call), { path: '/etc/passwd' })
  assert.deepEqual(call.args, { path: 'notes.txt' })
  assert.deepEqual(looked, ['notes.txt', '/etc/passwd'])
})

test('intercepts that return their input keep the original object', async () => {
  const { middleware } = setUp()
  middleware.registerIntercept('same', 'tool_request', ({ args }) => args)
  middleware.registerIntercept('same', 'model_request', ({ request }) => ({ request }))
  const call = toolCall()
  assert.equal(await middleware.tool(call), call.args)
  const model = modelCall()
  let announced: unknown
  await middleware.model({
    ...model,
    onRequest(request) {
      announced = request
    },
  })
  assert.equal(announced, model.request)
})

test('invalid marks are a failure of their intercept; one that fails open is skipped', async () => {
  const marks: unknown[] = [[null], [{}], [{ name: 5 }], 7, [{ name: 'ok' }, 'x']]
  for (const pendingMarks of marks) {
    const { middleware } = setUp()
    const events = recordEvents(middleware)
    const intercept: unknown = { request: { model: 'changed' }, pendingMarks }
    Reflect.apply(middleware.registerIntercept, middleware, ['m', 'model_request', () => intercept, { fails: 'open' }])
    assert.equal(await middleware.model(modelCall()), 'Hello')
    await middleware.flush()
    const start = events.find(({ scope_category }) => scope_category === 'start')
    assert.deepEqual(start?.data, modelCall().request)
  }
})

test('a rewrite whose description cannot be read is ignored', async () => {
  const { middleware, log } = setUp()
  middleware.registerMiddleware('tool_request', () => ({
    args: { path: 'changed' },
    get source(): string {
      throw new Error('unreadable')
    },
  }))
  assert.deepEqual(await middleware.tool(toolCall()), { path: 'notes.txt' })
  assert.equal(warnings(log).length, 1)
})
