import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MiddlewareRegistrar } from '../../src/middleware/contract.ts'
import type { Middleware } from '../../src/middleware/managed-call.ts'
import { modelCall, rejection, setUp, toolCall } from './support.ts'

const fault = new TypeError('no')

function fail(): never {
  throw fault
}

const byWhom: readonly (readonly [
  what: string,
  name: string,
  on: 'tool' | 'model',
  act: (on: MiddlewareRegistrar) => unknown,
])[] = [
  ['a guardrail of tools', 'cap', 'tool', (on) => on.registerGuardrail('cap', 'tool', fail)],
  ['a guardrail of models', 'cap', 'model', (on) => on.registerGuardrail('cap', 'model', fail)],
  ['a request intercept', 'cap', 'tool', (on) => on.registerIntercept('cap', 'tool_request', fail)],
  [
    'tool_request that fails closed',
    'fail',
    'tool',
    (on) => on.registerMiddleware('tool_request', fail, { fails: 'closed' }),
  ],
  ['an execution intercept', 'cap', 'model', (on) => on.registerIntercept('cap', 'model_execution', fail)],
  [
    'an execution intercept after a good call',
    'cap',
    'tool',
    (on) =>
      on.registerIntercept('cap', 'tool_execution', async (_call, next) => {
        await next()
        return fail()
      }),
  ],
  [
    'llm_execution that fails closed',
    'fail',
    'model',
    (on) => on.registerMiddleware('llm_execution', fail, { fails: 'closed' }),
  ],
  ['a stream intercept', 'cap', 'model', (on) => on.registerIntercept('cap', 'model_stream', fail)],
  [
    'a stream intercept between chunks',
    'cap',
    'model',
    (on) =>
      on.registerIntercept('cap', 'model_stream', async function* (_call, next) {
        for await (const chunk of await next()) {
          yield chunk
          fail()
        }
      }),
  ],
]

/** Everybody lets an error through that is not his own. */
function registerOthers({ forPlugin }: Middleware): void {
  for (const on of [forPlugin('before'), forPlugin('after')]) {
    on.registerIntercept('through', 'tool_execution', (_call, next) => next())
    on.registerIntercept('through', 'model_execution', (_call, next) => next())
    on.registerIntercept('through', 'model_stream', (_call, next) => next())
    on.registerMiddleware('tool_execution', ({ next_call }) => next_call())
    on.registerMiddleware('llm_execution', ({ next_call }) => next_call())
  }
}

for (const [what, name, kind, act] of byWhom) {
  test(`an error of ${what} is attributed to its plugin and stays the same object`, async () => {
    const { middleware } = setUp()
    registerOthers(middleware)
    act(middleware.forPlugin('budget'))
    assert.equal(await rejection(kind === 'tool' ? middleware.tool(toolCall()) : middleware.model(modelCall())), fault)
    assert.equal(middleware.errorOrigin(fault), `"${name}" of the plugin "budget"`)
  })
}

test('an error of a tool or a provider is attributed to no plugin', async () => {
  const { middleware } = setUp()
  registerOthers(middleware)
  assert.equal(await rejection(middleware.tool(toolCall({ handler: async () => fail() }))), fault)
  assert.equal(middleware.errorOrigin(fault), null)
  const broken = modelCall([], {
    // biome-ignore lint/correctness/useYield: it fails before its first chunk
    async *stream() {
      return fail()
    },
  })
  assert.equal(await rejection(middleware.model(broken)), fault)
  assert.equal(middleware.errorOrigin(fault), null)
})

test('an error that replaces a failure is attributed to the callback that threw it', async () => {
  const { middleware } = setUp()
  const translated = new RangeError('translated')
  middleware.forPlugin('translator').registerMiddleware('tool_execution', async ({ next_call }) => {
    await next_call().catch(() => undefined)
    throw translated
  })
  assert.equal(await rejection(middleware.tool(toolCall({ handler: async () => fail() }))), translated)
  assert.match(middleware.errorOrigin(translated) ?? '', /"translator"$/)
})

test('a thrown value that is not an object has no origin', async () => {
  const { middleware } = setUp()
  middleware.forPlugin('budget').registerGuardrail('cap', 'tool', () => Promise.reject('a text'))
  assert.equal(await rejection(middleware.tool(toolCall())), 'a text')
  assert.equal(middleware.errorOrigin('a text'), null)
})
