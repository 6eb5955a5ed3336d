import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMiddleware } from '#sdk'
import { isHermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { MiddlewareRegistrar } from '../../src/middleware/contract.ts'
import { rejectionReasonOf } from '../../src/middleware/guardrail-rejected.ts'
import type { Middleware } from '../../src/middleware/managed-call.ts'
import { modelCall, rejection, setUp, toolCall } from './support.ts'

const refused = async (register: () => unknown) => rejection(Promise.resolve().then(register))

test('middleware of the public #sdk works without the gateway', async () => {
  const middleware: Middleware = createMiddleware({ log: silentLog })
  middleware.registerGuardrail('g', 'tool', () => 'no')
  assert.equal(rejectionReasonOf(await rejection(middleware.tool(toolCall()))), 'no')
})

test('without registrations the handler receives the same arguments object and its promise is returned', async () => {
  const { middleware } = setUp()
  const result = Promise.resolve('done')
  const call = toolCall({ handler: (args) => (args === call.args ? result : Promise.reject(args)) })
  assert.equal(middleware.tool(call), result)
  const fault = new TypeError('no')
  const rejecting = toolCall({ handler: () => Promise.reject(fault) })
  assert.equal(await rejection(middleware.tool(rejecting)), fault)
})

test('without registrations the policy still decides by value, promise or error', async () => {
  const { middleware } = setUp()
  const fault = new TypeError('no')
  assert.deepEqual(await middleware.tool(toolCall({ policy: () => ({ path: 'a' }) })), { path: 'a' })
  assert.deepEqual(await middleware.tool(toolCall({ policy: async () => ({ path: 'b' }) })), { path: 'b' })
  assert.equal(await rejection(middleware.tool(toolCall({ policy: () => Promise.reject(fault) }))), fault)
  const throwing = () => {
    throw fault
  }
  assert.equal(await rejection(middleware.tool(toolCall({ policy: throwing }))), fault)
  assert.equal(await rejection(middleware.tool(toolCall({ handler: throwing }))), fault)
})

test('registrations for models do not affect tool calls', async () => {
  const { middleware } = setUp()
  middleware.registerGuardrail('g', 'model', () => null)
  const result = Promise.resolve('done')
  assert.equal(middleware.tool(toolCall({ handler: () => result })), result)
})

test('a name can be used once in each registry of each level', async () => {
  const { middleware } = setUp()
  const levels: MiddlewareRegistrar[] = [middleware, middleware.forPlugin('a'), middleware.forPlugin('b')]
  for (const level of levels) {
    level.registerGuardrail('x', 'tool', () => null)
    level.registerGuardrail('x', 'model', () => null)
    level.registerIntercept('x', 'tool_request', ({ args }) => args)
    const error = await refused(() => level.registerGuardrail('x', 'tool', () => null))
    assert.ok(isHermesError(error, 'middleware/name-taken'))
  }
  assert.ok(
    isHermesError(
      await refused(() => middleware.forPlugin('a').registerGuardrail('x', 'tool', () => null)),
      'middleware/name-taken',
    ),
    'the same plugin has the same level each time it is asked for',
  )
})

test('a removed registration frees its name and cannot be removed again', async () => {
  const { middleware } = setUp()
  const first = middleware.registerSubscriber('s', () => undefined)
  assert.equal(first.name, 's')
  assert.equal(first.remove(), true)
  assert.equal(first.remove(), false)
  assert.equal(middleware.registerSubscriber('s', () => undefined).remove(), true)
})

test('an invalid registration is rejected with a code', async () => {
  const { middleware } = setUp()
  const untyped: { readonly [name: string]: (...given: unknown[]) => unknown } = JSON.parse('{}', () =>
    Object(middleware),
  )
  const wrong: [string, ...unknown[]][] = [
    ['registerGuardrail', 'x', 'nothing', () => null],
    ['registerGuardrail', 'x', 'tool', 'not a function'],
    ['registerGuardrail', '', 'tool', () => null],
    ['registerGuardrail', 'x', 'tool', () => null, { priority: Number.NaN }],
    ['registerGuardrail', 'x', 'tool', () => null, { fails: 'sometimes' }],
    ['registerMiddleware', 'llm', () => null],
    ['registerMiddleware', 'llm_request', undefined],
    ['registerSubscriber', 'x', {}],
  ]
  for (const [method, ...given] of wrong) {
    const error = await refused(() => untyped[method]?.(...given))
    assert.ok(isHermesError(error, 'middleware/bad-registration'), `${method} ${given}`)
  }
  const call = toolCall()
  assert.equal(await middleware.tool(call), call.args)
})

test('a model call without registrations runs its stream and the hooks of its caller', async () => {
  const { middleware } = setUp()
  const seen: unknown[] = []
  const response = await middleware.model(
    modelCall(['a', 'b'], {
      rewrite: (request, trace) => ({ ...request, traced: trace.length }),
      onRequest: (request) => void seen.push(request['traced']),
      onStreamStart: () => void seen.push('begin'),
      onChunk: (chunk) => void seen.push(chunk),
    }),
  )
  assert.equal(response, 'ab')
  assert.deepEqual(seen, [0, 'begin', 'a', 'b'])
})
