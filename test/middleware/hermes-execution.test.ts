import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { HermesError, isHermesError } from '../../src/lib/errors.ts'
import type { Fields, ToolExecutionPayload } from '../../src/middleware/contract.ts'
import { GuardrailRejected } from '../../src/middleware/guardrail-rejected.ts'
import { deferred, modelCall, rejection, setUp, toolCall } from './support.ts'

type Callback = (payload: ToolExecutionPayload) => Promise<unknown>

interface Row {
  readonly what: string
  readonly callback: Callback
  /** The error that the tool throws. */
  readonly fault?: Error
  /** The result of the call, or what it must reject with. */
  readonly gives?: unknown
  readonly rejects?: unknown
  readonly runs: number
}

const fault = new TypeError('the tool failed')
const own = new RangeError('the callback failed')

const open: readonly Row[] = [
  {
    what: 'it returns what next_call gave',
    callback: ({ next_call, args }) => next_call(args),
    gives: 'done',
    runs: 1,
  },
  { what: 'it calls next_call without arguments', callback: ({ next_call }) => next_call(), gives: 'done', runs: 1 },
  { what: 'it calls next_call with null', callback: ({ next_call }) => next_call(null), gives: 'done', runs: 1 },
  { what: 'it returns a value of its own without next_call', callback: async () => 'cached', gives: 'cached', runs: 0 },
  { what: 'it returns null without next_call', callback: async () => null, gives: null, runs: 0 },
  { what: 'it throws before next_call', callback: () => Promise.reject(own), gives: 'done', runs: 1 },
  {
    what: 'it throws at once, without a promise',
    callback: () => {
      throw own
    },
    gives: 'done',
    runs: 1,
  },
  {
    what: 'it throws after a good next_call',
    callback: async ({ next_call }) => {
      await next_call()
      throw own
    },
    gives: 'done',
    runs: 1,
  },
  {
    what: 'it changes the result',
    callback: async ({ next_call }) => `${await next_call()}!`,
    gives: 'done!',
    runs: 1,
  },
  {
    what: 'it turns the result into null',
    callback: async ({ next_call }) => {
      await next_call()
      return null
    },
    gives: null,
    runs: 1,
  },
  {
    what: 'it only watches and returns nothing',
    callback: async ({ next_call }) => void (await next_call()),
    gives: 'done',
    runs: 1,
  },
  {
    what: 'it calls next_call twice',
    callback: async ({ next_call }) => {
      await next_call()
      return next_call()
    },
    gives: 'done',
    runs: 1,
  },
  {
    what: 'it does not wait for next_call',
    callback: async ({ next_call }) => {
      void next_call()
      return 'too early'
    },
    gives: 'done',
    runs: 1,
  },
  {
    what: 'it throws while next_call runs',
    callback: async ({ next_call }) => {
      void next_call()
      throw own
    },
    gives: 'done',
    runs: 1,
  },
  {
    what: 'the tool fails and it lets that through',
    callback: ({ next_call }) => next_call(),
    fault,
    rejects: fault,
    runs: 1,
  },
  {
    what: 'the tool fails and it translates that',
    callback: ({ next_call }) =>
      next_call().catch(() => {
        throw own
      }),
    fault,
    rejects: own,
    runs: 1,
  },
  {
    what: 'the tool fails and it returns something instead',
    callback: ({ next_call }) => next_call().catch(() => 'fallback'),
    fault,
    gives: 'fallback',
    runs: 1,
  },
  {
    what: 'the tool fails and it swallows that',
    callback: ({ next_call }) => next_call().catch(() => undefined),
    fault,
    rejects: fault,
    runs: 1,
  },
  {
    what: 'the tool fails and it makes null of that',
    callback: ({ next_call }) => next_call().catch(() => null),
    fault,
    rejects: fault,
    runs: 1,
  },
  {
    what: 'the tool fails and it never looks',
    callback: async ({ next_call }) => {
      void next_call()
      return 'fine'
    },
    fault,
    rejects: fault,
    runs: 1,
  },
]

for (const { what, callback, fault: thrown, gives, rejects, runs } of open) {
  test(`tool_execution: ${what}`, async () => {
    const { middleware } = setUp()
    middleware.registerMiddleware('tool_execution', callback)
    let ran = 0
    const call = toolCall({
      handler: async () => {
        ran += 1
        if (thrown !== undefined) throw thrown
        return 'done'
      },
    })
    if (rejects === undefined) assert.equal(await middleware.tool(call), gives)
    else assert.equal(await rejection(middleware.tool(call)), rejects, 'the very same error')
    assert.equal(ran, runs)
  })
}

const closed: readonly Row[] = [
  { what: 'throws before next_call', callback: () => Promise.reject(own), rejects: own, runs: 0 },
  {
    what: 'throws after a good next_call',
    callback: async ({ next_call }) => {
      await next_call()
      throw own
    },
    rejects: own,
    runs: 1,
  },
  {
    what: 'throws while next_call runs',
    callback: async ({ next_call }) => {
      void next_call()
      throw own
    },
    rejects: own,
    runs: 1,
  },
  { what: 'behaves', callback: ({ next_call }) => next_call(), gives: 'done', runs: 1 },
]

for (const { what, callback, gives, rejects, runs } of closed) {
  test(`tool_execution registered to fail closed: it ${what}`, async () => {
    const { middleware } = setUp()
    middleware.registerMiddleware('tool_execution', callback, { fails: 'closed' })
    let ran = 0
    const handler = async () => {
      ran += 1
      return 'done'
    }
    const work = middleware.tool(toolCall({ handler }))
    if (rejects === undefined) assert.equal(await work, gives)
    else assert.equal(await rejection(work), rejects)
    assert.equal(ran, runs)
  })
}

test('a second next_call rejects inside the callback', async () => {
  const { middleware } = setUp()
  const second = Promise.withResolvers<unknown>()
  middleware.registerMiddleware('tool_execution', async function hasty({ next_call }) {
    const first = await next_call()
    second.resolve(await rejection(next_call()))
    return first
  })
  await middleware.tool(toolCall())
  const error = await second.promise
  assert.ok(isHermesError(error, 'middleware/next-called-twice'))
  assert.match(error.message, /hasty/)
})

test('a next_call that comes after the callback has settled runs nothing', async () => {
  const { middleware } = setUp()
  let late: ToolExecutionPayload['next_call'] | undefined
  middleware.registerMiddleware('tool_execution', async ({ next_call }) => {
    late = next_call
    return 'cached'
  })
  let ran = 0
  const handler = async () => {
    ran += 1
  }
  assert.equal(await middleware.tool(toolCall({ handler })), 'cached')
  const error = await rejection(late?.() ?? Promise.resolve())
  assert.ok(error instanceof HermesError && error.code === 'middleware/next-revoked')
  assert.equal(ran, 0)
})

test('the input of next_call reaches the inner callbacks and the tool', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call({ path: 'a' }))
  middleware.registerMiddleware('tool_execution', ({ next_call, args }) => next_call({ ...args, more: true }))
  assert.deepEqual(await middleware.tool(toolCall()), { path: 'a', more: true })
})

test('a callback that fails before next_call passes its own arguments to the remaining callbacks', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call({ path: 'a' }))
  middleware.registerMiddleware('tool_execution', () => Promise.reject(own))
  middleware.registerMiddleware('tool_execution', ({ next_call, args }) => next_call({ ...args, inner: true }))
  assert.deepEqual(await middleware.tool(toolCall()), { path: 'a', inner: true })
})

test('an execution callback receives the rewrite trace and the original arguments', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware('tool_request', () => ({ args: { path: 'b' }, source: 'paths', reason: 'shorter' }))
  let seen: ToolExecutionPayload | undefined
  middleware.registerMiddleware('tool_execution', (payload) => {
    seen = payload
    return payload.next_call()
  })
  await middleware.tool(toolCall({ fields: () => ({ session_id: 's1', route: 'main' }) }))
  assert.deepEqual(seen?.middleware_trace, [{ source: 'paths', reason: 'shorter' }])
  assert.deepEqual(seen?.original_args, { path: 'notes.txt' })
  assert.deepEqual(seen?.args, { path: 'b' })
  assert.equal(seen?.tool_name, 'read_file')
  assert.equal(seen?.tool_call_id, 'call-1')
  assert.equal(seen?.['session_id'], 's1')
  assert.equal(seen?.['route'], 'main')
})

test('a tool that changes its arguments does not change original_args', async () => {
  const { middleware } = setUp()
  let original: unknown
  middleware.registerMiddleware('tool_execution', async (payload) => {
    const result = await payload.next_call()
    original = payload.original_args
    return result
  })
  const args: Record<string, unknown> = { path: 'notes.txt' }
  const handler = async () => {
    args['path'] = 'changed'
  }
  await middleware.tool(toolCall({ args, handler }))
  assert.deepEqual(original, { path: 'notes.txt' })
})

test('original_args keeps the caller’s arguments although an outer wrapper changes them in place', async () => {
  const { middleware } = setUp()
  middleware.registerIntercept('sloppy', 'tool_execution', ({ args }, next) => {
    Object.assign(args, { path: 'changed' })
    return next()
  })
  let original: unknown
  middleware.registerMiddleware('tool_execution', (payload) => {
    original = payload.original_args
    return payload.next_call()
  })
  await middleware.tool(toolCall())
  assert.deepEqual(original, { path: 'notes.txt' })
})

test('failing closed, a callback that throws while next_call runs ends the call when the tool has ended', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware(
    'tool_execution',
    async ({ next_call }) => {
      void next_call()
      throw own
    },
    { fails: 'closed' },
  )
  const wait = deferred()
  let ended = false
  const handler = async () => {
    await wait.promise
    ended = true
  }
  const work = rejection(middleware.tool(toolCall({ handler }))).then((error) => {
    assert.equal(ended, true)
    return error
  })
  await nextTurn()
  wait.resolve()
  assert.equal(await work, own)
})

test('a GuardrailRejected thrown by a callback ends the call, although callbacks fail open', async () => {
  const { middleware } = setUp()
  const refusal = new GuardrailRejected('budget', 'too expensive')
  for (const kind of ['tool_request', 'tool_execution'] as const) {
    const registration = middleware.registerMiddleware(kind, () => Promise.reject(refusal))
    assert.equal(await rejection(middleware.tool(toolCall())), refusal, kind)
    registration.remove()
  }
  middleware.registerMiddleware('llm_execution', () => Promise.reject(refusal))
  assert.equal(await rejection(middleware.model(modelCall())), refusal)
})

test('a repeated failure is logged as one warning; a different failure is logged as another', async () => {
  const { middleware, log } = setUp()
  let message = 'first'
  middleware.forPlugin('clumsy').registerMiddleware('tool_execution', function stumble() {
    throw new Error(message)
  })
  for (let call = 0; call < 3; call++) await middleware.tool(toolCall())
  message = 'second'
  await middleware.tool(toolCall())
  const warned = log.records.filter(({ level }) => level === 'warn')
  assert.deepEqual(
    warned.map(({ fields: { event, plugin, name, point } }) => ({ event, plugin, name, point })),
    Array(2).fill({
      event: 'middleware.callback_failed',
      plugin: 'clumsy',
      name: 'stumble',
      point: 'tool_execution',
    }),
  )
  assert.equal(log.records.filter(({ level }) => level === 'debug').length, 2)
})

test('a callback that waits does not delay other calls', async () => {
  const { middleware } = setUp()
  const wait = deferred()
  middleware.registerMiddleware('tool_execution', async ({ next_call, tool_name }) => {
    if (tool_name === 'slow') await wait.promise
    return next_call()
  })
  const slow = middleware.tool(toolCall({ toolName: 'slow', handler: async () => 'slow' }))
  assert.equal(await middleware.tool(toolCall({ handler: async () => 'quick' })), 'quick')
  wait.resolve()
  assert.equal(await slow, 'slow')
})

test('a tool receives the original object if no wrapper changed it, and the changes if one did', async () => {
  const { middleware } = setUp()
  const args = { path: 'a', list: [1] }
  const got: unknown[] = []
  const handler = async (given: Fields) => got.push(given)
  let change = false
  middleware.registerMiddleware('tool_execution', ({ args: own, next_call }) => {
    if (change) Reflect.set(own, 'path', 'b')
    return next_call()
  })
  const policy = (given: Fields) => given
  await middleware.tool(toolCall({ args, handler, policy }))
  assert.equal(got[0], args)
  change = true
  await middleware.tool(toolCall({ args, handler, policy }))
  assert.deepEqual([got[1], args.path], [{ path: 'b', list: [1] }, 'a'])
})
