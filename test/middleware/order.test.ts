import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MiddlewareRegistrar } from '../../src/middleware/contract.ts'
import { modelCall, setUp, toolCall } from './support.ts'

/** Registers wrappers of both families on a level, named after it. */
function wrap(on: MiddlewareRegistrar, level: string, order: string[]): void {
  on.registerIntercept(`nemo ${level}`, 'tool_execution', (_call, next) => {
    order.push(`nemo ${level}`)
    return next()
  })
  on.registerMiddleware('tool_execution', ({ next_call }) => {
    order.push(`hermes ${level}`)
    return next_call()
  })
}

test('NeMo wraps Hermes; within each, global registrations run before those of plugins in loading order, then those of scopes', async () => {
  const { middleware } = setUp()
  const order: string[] = []
  // Loaded first, registered last.
  const [zebra, ape] = [middleware.forPlugin('zebra'), middleware.forPlugin('ape')]
  await middleware.scope({ name: 'turn' }, (turn) =>
    middleware.scope({ name: 'iteration' }, async (iteration) => {
      wrap(iteration, 'iteration', order)
      wrap(turn, 'turn', order)
      wrap(ape, 'ape', order)
      wrap(zebra, 'zebra', order)
      wrap(middleware, 'everything', order)
      await middleware.tool(toolCall())
    }),
  )
  const levels = ['everything', 'zebra', 'ape', 'turn', 'iteration']
  assert.deepEqual(order, [...levels.map((level) => `nemo ${level}`), ...levels.map((level) => `hermes ${level}`)])
})

test('a lower priority runs first on every level; negative priorities run before the default', async () => {
  const { middleware } = setUp()
  const order: string[] = []
  const intercept = (on: MiddlewareRegistrar, name: string, priority?: number) =>
    on.registerIntercept(
      name,
      'tool_request',
      ({ args }) => {
        order.push(name)
        return args
      },
      priority === undefined ? {} : { priority },
    )
  await middleware.scope({ name: 'turn' }, async (turn) => {
    intercept(middleware, 'late', 10)
    intercept(middleware, 'plain')
    intercept(turn, 'early of the scope', -5)
    intercept(turn, 'plain of the scope')
    await middleware.tool(toolCall())
  })
  assert.deepEqual(order, ['early of the scope', 'plain', 'plain of the scope', 'late'])
})

test('with equal priorities, a NeMo registry runs by name and a Hermes kind in the order of registration', async () => {
  const { middleware } = setUp()
  const order: string[] = []
  for (const name of ['c', 'a', 'b']) {
    middleware.registerGuardrail(name, 'tool', () => void order.push(`nemo ${name}`))
    middleware.registerMiddleware('tool_request', () => void order.push(`hermes ${name}`))
  }
  await middleware.tool(toolCall())
  assert.deepEqual(order, ['nemo a', 'nemo b', 'nemo c', 'hermes c', 'hermes a', 'hermes b'])
})

test('the steps of a tool call come in the order of the design', async () => {
  const { middleware } = setUp()
  const order: string[] = []
  middleware.registerGuardrail('guardrail', 'tool', ({ args }) => void order.push(`guardrail ${args['path']}`))
  middleware.registerIntercept('nemo', 'tool_request', ({ args }) => {
    order.push(`intercept ${args['path']}`)
    return { path: 'b' }
  })
  middleware.registerMiddleware('tool_request', ({ args }) => {
    order.push(`tool_request ${args['path']}`)
    return { args: { path: 'c' } }
  })
  middleware.registerIntercept('nemo', 'tool_execution', async ({ args }, next) => {
    order.push(`intercept around ${args['path']}`)
    const result = await next()
    order.push('intercept after')
    return result
  })
  middleware.registerMiddleware('tool_execution', async ({ args, next_call }) => {
    order.push(`tool_execution ${args['path']}`)
    const result = await next_call()
    order.push('tool_execution after')
    return result
  })
  await middleware.tool(
    toolCall({
      args: { path: 'a' },
      policy(args) {
        order.push(`policy ${args['path']}`)
        return { path: 'd' }
      },
      async handler({ path }) {
        order.push(`handler ${path}`)
      },
    }),
  )
  assert.deepEqual(order, [
    'guardrail a',
    'intercept a',
    'tool_request b',
    'guardrail c',
    'policy c',
    'intercept around d',
    'tool_execution d',
    'handler d',
    'tool_execution after',
    'intercept after',
  ])
})

test('the steps of a model call come in the order of the design', async () => {
  const { middleware } = setUp()
  const order: string[] = []
  const say = (what: string, { version }: { readonly version?: unknown }) => order.push(`${what} ${version}`)
  middleware.registerGuardrail('guardrail', 'model', ({ request }) => void say('guardrail', request))
  middleware.registerIntercept('nemo', 'model_request', ({ request }) => {
    say('intercept', request)
    return { request: { version: 1 } }
  })
  middleware.registerMiddleware('api_request', ({ request }) => {
    say('llm_request', request)
    return { request: { version: 2 } }
  })
  middleware.registerIntercept('nemo', 'model_execution', ({ request }, next) => {
    say('intercept around', request)
    return next()
  })
  middleware.registerMiddleware('api_execution', ({ request, next_call }) => {
    say('llm_execution', request)
    return next_call()
  })
  middleware.registerIntercept('nemo', 'model_stream', ({ request }, next) => {
    say('stream intercept', request)
    return next()
  })
  const response = await middleware.model(
    modelCall([], {
      request: { version: 0 },
      rewrite(request) {
        say('rewrite', request)
        return { version: 3 }
      },
      onRequest: (request) => void say('announce', request),
      async *stream(request) {
        say('stream', request)
        yield 'chunk'
        return 'never asked for'
      },
      onChunk: (chunk) => void order.push(chunk),
    }),
  )
  assert.deepEqual(order, [
    'guardrail 0',
    'intercept 0',
    'llm_request 1',
    'rewrite 2',
    'guardrail 3',
    'announce 3',
    'intercept around 3',
    'llm_execution 3',
    'stream intercept 3',
    'stream 3',
    'chunk',
  ])
  assert.equal(response, 'chunk')
})

test('registrations that change during a stage affect only later stages', async () => {
  const { middleware } = setUp()
  const order: string[] = []
  const doomed = middleware.registerGuardrail('z', 'tool', () => void order.push('z'))
  middleware.registerGuardrail('a', 'tool', () => {
    order.push('a')
    assert.equal(doomed.remove(), true)
    middleware.registerGuardrail('new', 'tool', () => void order.push('new'))
    middleware.registerMiddleware('tool_request', () => void order.push('tool_request'))
  })
  await middleware.tool(toolCall())
  assert.deepEqual(order, ['a', 'z', 'tool_request'])
  assert.equal(doomed.remove(), false)
})
