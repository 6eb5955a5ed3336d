import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isHermesError } from '../../src/lib/errors.ts'
import type { Intercepts, ScopeSpec, ToolCallView } from '../../src/middleware/contract.ts'
import { deferred, modelCall, rejection, setUp, toolCall, warnings } from './support.ts'

type Intercept = Intercepts['tool_execution']

const fault = new TypeError('the tool failed')
const own = new RangeError('the intercept failed')

/** A tool that counts its runs. */
function counted(run: (count: number) => unknown = () => 'done') {
  const runs = { count: 0 }
  return {
    runs,
    handler: async () => {
      runs.count += 1
      return run(runs.count)
    },
  }
}

interface Row {
  readonly what: string
  readonly intercept: Intercept
  readonly fails?: 'open'
  readonly run?: (count: number) => unknown
  readonly gives?: unknown
  readonly rejects?: unknown
  readonly runs: number
}

const failing = () => {
  throw fault
}

const rows: readonly Row[] = [
  { what: 'it hands the result on', intercept: (_call, next) => next(), gives: 'done', runs: 1 },
  { what: 'it replaces the call', intercept: () => 'cached', gives: 'cached', runs: 0 },
  { what: 'it throws before next', intercept: () => Promise.reject(own), rejects: own, runs: 0 },
  {
    what: 'it throws at once',
    intercept: () => {
      throw own
    },
    rejects: own,
    runs: 0,
  },
  {
    what: 'it throws after a good next',
    intercept: async (_call, next) => {
      await next()
      throw own
    },
    rejects: own,
    runs: 1,
  },
  { what: 'it returns undefined', intercept: async (_call, next) => void (await next()), gives: undefined, runs: 1 },
  { what: 'the tool fails', intercept: (_call, next) => next(), run: failing, rejects: fault, runs: 1 },
  {
    what: 'it tries again until it works',
    intercept: async (_call, next) => {
      for (;;)
        try {
          return await next()
        } catch {
          // Again.
        }
    },
    run: (count) => (count < 3 ? failing() : 'at last'),
    gives: 'at last',
    runs: 3,
  },
  {
    what: 'it runs the tool twice at once',
    intercept: async (_call, next) =>
      Promise.all([next({ path: 'a' }), next({ path: 'b' })]).then((both) => both.length),
    gives: 2,
    runs: 2,
  },
  {
    what: 'failing open: it throws before next',
    intercept: () => Promise.reject(own),
    fails: 'open',
    gives: 'done',
    runs: 1,
  },
  {
    what: 'failing open: it throws after a good next',
    intercept: async (_call, next) => {
      await next()
      throw own
    },
    fails: 'open',
    gives: 'done',
    runs: 1,
  },
  {
    what: 'failing open: it throws while next runs',
    intercept: async (_call, next) => {
      void next()
      throw own
    },
    fails: 'open',
    gives: 'done',
    runs: 1,
  },
  {
    what: 'failing open: it throws while it tries again',
    intercept: async (_call, next) => {
      await next().catch(() => undefined)
      void next()
      throw own
    },
    fails: 'open',
    run: (count) => (count === 1 ? failing() : 'second'),
    gives: 'second',
    runs: 2,
  },
  {
    what: 'failing open: it lets the failure of the tool through',
    intercept: (_call, next) => next(),
    fails: 'open',
    run: failing,
    rejects: fault,
    runs: 1,
  },
  {
    what: 'failing open: it translates the failure of the tool',
    intercept: (_call, next) => next().catch(() => Promise.reject(own)),
    fails: 'open',
    run: failing,
    rejects: own,
    runs: 1,
  },
]

for (const { what, intercept, fails, run, gives, rejects, runs } of rows) {
  test(`tool_execution intercept: ${what}`, async () => {
    const { middleware } = setUp()
    middleware.registerIntercept('under test', 'tool_execution', intercept, fails === undefined ? {} : { fails })
    const tool = counted(run)
    const work = middleware.tool(toolCall(tool))
    if (rejects === undefined) assert.equal(await work, gives)
    else assert.equal(await rejection(work), rejects, 'the very same error')
    assert.equal(tool.runs.count, runs)
  })
}

test('when an intercept settles, its running next calls reject and their signals abort', async () => {
  const { middleware } = setUp()
  const started = deferred()
  let running: Promise<unknown> = Promise.resolve()
  middleware.registerIntercept('impatient', 'tool_execution', async (_call, next) => {
    running = next()
    await started.promise
    return 'instead'
  })
  let signal: AbortSignal | undefined
  const call = toolCall({
    handler: (_args, given) => {
      signal = given
      started.resolve()
      return new Promise(() => undefined)
    },
  })
  assert.equal(await middleware.tool(call), 'instead')
  assert.equal(signal?.aborted, true)
  assert.ok(isHermesError(signal?.reason, 'middleware/next-revoked'))
  assert.equal(await rejection(running), signal?.reason)
})

test('aborting one branch does not affect the other branches of the call', async () => {
  const { middleware } = setUp()
  const signals: AbortSignal[] = []
  const release = deferred()
  middleware.registerIntercept('a: both', 'tool_execution', async (_call, next) => {
    const [, second] = await Promise.all([next({ way: 1 }), next({ way: 2 })])
    return second
  })
  middleware.registerIntercept('b: leaves the first', 'tool_execution', async ({ args }, next) => {
    const rest = next()
    if (args['way'] === 2) return rest
    await nextTurn()
    setImmediate(() => release.resolve())
    return 'left'
  })
  const handler = async (args: unknown, signal: AbortSignal) => {
    signals.push(signal)
    await release.promise
    return args
  }
  assert.deepEqual(await middleware.tool(toolCall({ handler })), { way: 2 })
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  )
})

test('an outer intercept that settles aborts the branches of inner intercepts', async () => {
  const { middleware } = setUp()
  const started = deferred()
  const signals: AbortSignal[] = []
  let inner: ToolCallView | undefined
  let unseen: ToolCallView | undefined
  middleware.registerIntercept('a: impatient', 'tool_execution', async (_call, next) => {
    void next()
    await started.promise
    return 'instead'
  })
  middleware.registerIntercept('b: patient', 'tool_execution', (call, next) => {
    inner = call
    signals.push(call.signal)
    return next()
  })
  middleware.registerIntercept('c: patient', 'tool_execution', (call, next) => {
    unseen = call
    return next()
  })
  const handler = (_args: unknown, signal: AbortSignal) => {
    signals.push(signal)
    started.resolve()
    return new Promise(() => undefined)
  }
  assert.equal(await middleware.tool(toolCall({ handler })), 'instead')
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, true],
  )
  assert.equal(inner?.signal, signals[0])
  assert.equal(unseen?.signal.aborted, true, 'also if it was not read before')
})

for (const family of ['nemo', 'hermes'] as const) {
  test(`an aborted branch starts nothing more (${family} inside)`, async () => {
    const { middleware } = setUp()
    const started = deferred()
    const wait = deferred()
    const late = Promise.withResolvers<unknown>()
    middleware.registerIntercept('impatient', 'tool_execution', async (_call, next) => {
      void next()
      await started.promise
      return 'instead'
    })
    const slow = async (next: () => Promise<unknown>) => {
      started.resolve()
      await wait.promise
      late.resolve(await rejection(next()))
    }
    if (family === 'nemo')
      middleware.registerIntercept('slow', 'tool_execution', (_call, next) => slow(next), { priority: 1 })
    else middleware.registerMiddleware('tool_execution', ({ next_call }) => slow(next_call))
    const tool = counted()
    assert.equal(await middleware.tool(toolCall(tool)), 'instead')
    wait.resolve()
    assert.ok(isHermesError(await late.promise, 'middleware/next-revoked'))
    assert.equal(tool.runs.count, 0)
  })
}

test('next after the intercept has settled rejects and runs nothing', async () => {
  const { middleware } = setUp()
  let kept: (() => Promise<unknown>) | undefined
  middleware.registerIntercept('keeper', 'tool_execution', async (_call, next) => {
    kept = next
    return 'mine'
  })
  const tool = counted()
  await middleware.tool(toolCall(tool))
  const error = await rejection(kept?.() ?? Promise.resolve())
  assert.ok(isHermesError(error, 'middleware/next-revoked'))
  assert.match(error.message, /"keeper"/)
  assert.equal(tool.runs.count, 0)
})

test('each next runs in its own branch, isolated from the others', async () => {
  const { middleware } = setUp()
  const spec = (name: string): ScopeSpec => ({ name })
  middleware.registerIntercept('both', 'tool_execution', ({ toolName }, next) =>
    toolName === 'nested'
      ? next()
      : Promise.all(
          ['left', 'right'].map((side) =>
            middleware.scope(spec(side), async (scope) => {
              scope.registerMiddleware('tool_execution', ({ next_call, args }) => next_call({ ...args, [side]: true }))
              return next({ side })
            }),
          ),
        ),
  )
  const seen: string[] = []
  const handler = async () => {
    const call = toolCall({ toolName: 'nested', args: {} })
    seen.push(`${middleware.currentScope().name} ${JSON.stringify(await middleware.tool(call))}`)
  }
  await middleware.tool(toolCall({ handler }))
  assert.deepEqual(seen.sort(), ['left {"left":true}', 'right {"right":true}'])
})

test('an execution intercept of a model receives the whole response and may repeat the request with a new stream', async () => {
  const { middleware } = setUp()
  middleware.registerIntercept('again', 'model_execution', async ({ request }, next) => {
    const first = await next()
    return first === 'Hello' ? next({ ...request, temperature: 1 }) : first
  })
  const seen: string[] = []
  const requests: unknown[] = []
  const call = modelCall([], {
    onStreamStart: () => void seen.push('begin'),
    onChunk: (chunk) => void seen.push(chunk),
    async *stream(request) {
      requests.push(request['temperature'])
      yield 'Hel'
      yield 'lo'
      return requests.length === 1 ? 'Hello' : 'Hello again'
    },
  })
  assert.equal(await middleware.model(call), 'Hello again')
  assert.deepEqual(requests, [undefined, 1])
  assert.deepEqual(seen, ['begin', 'Hel', 'lo', 'begin', 'Hel', 'lo'])
})

test('an intercept that fails open logs its failure once', async () => {
  const { middleware, log } = setUp()
  middleware.registerIntercept('open', 'model_execution', () => Promise.reject(own), { fails: 'open' })
  assert.equal(await middleware.model(modelCall()), 'Hello')
  assert.equal(await middleware.model(modelCall()), 'Hello')
  assert.deepEqual(warnings(log), ['middleware.callback_failed'])
})
