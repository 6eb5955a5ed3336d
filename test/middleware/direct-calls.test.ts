import assert from 'node:assert/strict'
import { Session } from 'node:inspector/promises'
import { test } from 'node:test'
import type { Fields } from '../../src/middleware/contract.ts'
import { rejectionReasonOf } from '../../src/middleware/guardrail-rejected.ts'
import { deferred, modelCall, rejection, setUp, toolCall, warnings } from './support.ts'

test('without registrations, calls and scopes run code of two files of the module', async () => {
  const { middleware } = setUp()
  const { signal } = new AbortController()
  const runCalls = () =>
    middleware.scope({ name: 'session', parent: null }, () =>
      middleware.scope({ name: 'turn' }, async () => {
        await middleware.model(modelCall(['a'], { signal, rewrite: async (request) => request }))
        await middleware.tool(toolCall({ signal, policy: async (args) => args }))
        return middleware.canChangeModelOutput()
      }),
    )
  await runCalls()
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await runCalls()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  const files = result
    .filter(({ url, functions }) => url.includes('/src/middleware/') && functions.some(wasCalled))
    .map(({ url }) => url.slice(url.lastIndexOf('/') + 1))
  assert.deepEqual(files.toSorted(), ['calls.ts', 'scope.ts'])
})

function wasCalled({ ranges }: { readonly ranges: readonly { readonly count: number }[] }): boolean {
  return ranges.some(({ count }) => count > 0)
}

test('a registration that is added while the request is rewritten applies to the same call', async () => {
  const { middleware } = setUp()
  const call = modelCall(['a'], {
    async rewrite(request) {
      middleware.registerIntercept('late', 'model_execution', async (_call, next) => `${await next()}!`)
      return { ...request, temperature: 0 }
    },
  })
  assert.equal(await middleware.model(call), 'a!')
})

test('a model call without registrations passes the rewritten request on and keeps the error of the provider', async () => {
  const { middleware } = setUp()
  const failure = new Error('overloaded')
  const requests: Fields[] = []
  const call = modelCall([], {
    rewrite: (request) => ({ ...request, temperature: 0 }),
    onRequest: (request) => requests.push(request),
    // biome-ignore lint/correctness/useYield: the provider fails before its first chunk.
    async *stream(request) {
      requests.push(request)
      throw failure
    },
  })
  assert.equal(await rejection(middleware.model(call)), failure)
  assert.equal(middleware.errorOrigin(failure), null)
  assert.equal(requests.length, 2)
  assert.equal(requests[0], requests[1])
  assert.equal(requests[0]?.['temperature'], 0)
})

test('an aborted model call without registrations settles although its rewrite hangs, and never starts the stream', async () => {
  const { middleware, log } = setUp()
  const abort = new AbortController()
  const reason = new Error('stopped')
  const wait = deferred()
  let started = false
  const call = modelCall([], {
    signal: abort.signal,
    async rewrite(request) {
      abort.abort(reason)
      await wait.promise
      return request
    },
    onStreamStart() {
      started = true
    },
  })
  assert.equal(await rejection(middleware.model(call)), reason)
  assert.deepEqual(warnings(log), ['middleware.call_detached'])
  wait.resolve()
  await new Promise(setImmediate)
  assert.equal(started, false)
})

test('a model call with an aborted signal rejects with the reason before it starts', async () => {
  const { middleware } = setUp()
  const reason = new Error('stopped')
  const rewrite = () => assert.fail('the call started')
  assert.equal(await rejection(middleware.model(modelCall([], { signal: AbortSignal.abort(reason), rewrite }))), reason)
})

test('a guardrail that is registered while a tool call waits for its policy applies to the same call', async () => {
  for (const earlier of [false, true]) {
    const { middleware } = setUp()
    const checks: string[] = []
    if (earlier) middleware.registerGuardrail('early', 'tool', () => void checks.push('early'))
    const call = toolCall({
      async policy(args) {
        middleware.registerGuardrail('late', 'tool', ({ args: checked }) => {
          checks.push('late')
          return checked['path'] === 'allowed.txt' ? 'no' : null
        })
        return { ...args, path: 'allowed.txt' }
      },
      handler: async () => assert.fail('the tool ran'),
    })
    assert.equal(rejectionReasonOf(await rejection(middleware.tool(call))), 'no')
    assert.deepEqual(checks, earlier ? ['early', 'late'] : ['late'])
  }
})

test('an intercept that is registered while a tool call waits for its policy wraps the same call, but rewrites nothing that was allowed', async () => {
  const { middleware } = setUp()
  const asked: Fields[] = []
  const call = toolCall({
    async policy(args) {
      asked.push(args)
      middleware.registerIntercept('rewrite', 'tool_request', () => ({ path: 'other.txt' }))
      middleware.registerIntercept('wrap', 'tool_execution', async (_call, next) => [await next()])
      return args
    },
  })
  assert.deepEqual(await middleware.tool(call), [call.args])
  assert.deepEqual(asked, [call.args])
})

test('an aborted model call receives no more chunks after it has settled', async () => {
  for (const kind of ['none', 'model_execution', 'model_stream'] as const) {
    const { middleware } = setUp()
    if (kind === 'model_execution') middleware.registerIntercept('pass', kind, (_call, next) => next())
    if (kind === 'model_stream') middleware.registerIntercept('pass', kind, (_call, next) => next())
    const abort = new AbortController()
    const [late, closed] = [deferred(), deferred()]
    const received: string[] = []
    const call = modelCall([], {
      signal: abort.signal,
      async *stream() {
        try {
          yield 'first'
          await late.promise
          yield 'late'
          yield 'later'
          return ''
        } finally {
          closed.resolve()
        }
      },
      onChunk(chunk) {
        received.push(chunk)
        abort.abort(new Error('stopped'))
      },
    })
    await rejection(middleware.model(call))
    late.resolve()
    await closed.promise
    assert.deepEqual(received, ['first'], kind)
  }
})
