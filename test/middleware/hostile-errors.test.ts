/**
 * Errors that cannot be read, and values that cannot be passed to `next`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fields } from '../../src/middleware/contract.ts'
import type { Middleware } from '../../src/middleware/managed-call.ts'
import { modelCall, recordEvents, rejection, setUp, toolCall } from './support.ts'

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

class Unreadable extends Error {
  override get name(): string {
    throw new Error('name')
  }
  override get message(): string {
    throw new Error('message')
  }
}
Object.defineProperty(Unreadable.prototype, 'constructor', {
  get() {
    throw new Error('constructor')
  },
})

test('an error that cannot be read ends the call with itself and an end event', async () => {
  for (const thrown of [revokedProxy(), new Unreadable()]) {
    for (const fails of ['open', 'closed'] as const) {
      const { middleware } = setUp()
      const events = recordEvents(middleware)
      middleware.registerIntercept('outer', 'tool_execution', (_call, next) => next(), { fails })
      middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call())
      const handler = () => Promise.reject(thrown)
      // Wrapped, because a promise cannot be fulfilled with a revoked proxy.
      const outcome = await middleware.tool(toolCall({ handler })).then(
        () => ({ error: undefined }),
        (error: unknown) => ({ error }),
      )
      assert.equal(outcome.error === thrown, true)
      await middleware.flush()
      assert.deepEqual(
        events.map(({ scope_category, metadata }) => [scope_category, metadata?.['otel.status_code']]),
        [
          ['start', undefined],
          ['end', 'ERROR'],
        ],
      )
    }
  }
})

test('an intercept that throws an error that cannot be read is skipped if it fails open', async () => {
  const { middleware } = setUp()
  const thrown = revokedProxy()
  middleware.registerMiddleware('tool_execution', () => Promise.reject(thrown))
  middleware.registerMiddleware('tool_request', () => Promise.reject(thrown))
  assert.deepEqual(await middleware.tool(toolCall()), { path: 'notes.txt' })
})

test('only an object, or nothing, can be passed to next', async () => {
  const points: readonly ((middleware: Middleware, value: Fields) => Promise<unknown>)[] = [
    (middleware, value) => {
      middleware.registerIntercept('i', 'tool_execution', (_call, next) => next(value))
      return middleware.tool(toolCall())
    },
    (middleware, value) => {
      const fails = { fails: 'closed' } as const
      middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call(value), fails)
      return middleware.tool(toolCall())
    },
    (middleware, value) => {
      middleware.registerIntercept('s', 'model_stream', (_call, next) => next(value))
      return middleware.model(modelCall())
    },
  ]
  for (const [index, run] of points.entries()) {
    for (const value of ['text', 7, true, ['a'], Promise.resolve({}), Symbol('s')]) {
      const { middleware } = setUp()
      const wrong: Fields = JSON.parse('null') ?? value
      const error = await rejection(run(middleware, wrong))
      assert.equal(Object(error).code, 'middleware/bad-return', `${index} ${String(value)}`)
    }
    for (const value of [undefined, null, { path: 'other' }]) {
      const { middleware } = setUp()
      const right: Fields = JSON.parse('null') ?? value
      await run(middleware, right)
    }
  }
})
