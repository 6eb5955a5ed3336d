import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Middleware } from '../../src/middleware/managed-call.ts'
import { deferred, recordEvents, rejection, setUp, toolCall, warnings } from './support.ts'

const reason = new Error('the user left')

test('a callback that catches an abort does not make a result of it, whatever its family', async () => {
  for (const family of ['nemo', 'hermes'] as const) {
    const { middleware } = setUp()
    if (family === 'nemo')
      middleware.registerIntercept('i', 'tool_execution', (_call, next) => next().catch(() => 'fine'))
    else middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call().catch(() => 'fine'))
    const controller = new AbortController()
    const call = toolCall({
      signal: controller.signal,
      handler: async (_args, signal) => {
        controller.abort(reason)
        signal.throwIfAborted()
      },
    })
    assert.equal(await rejection(middleware.tool(call)), reason, family)
  }
})

test('a callback that fails because of an abort ends the call, although it fails open', async () => {
  const { middleware, log } = setUp()
  const controller = new AbortController()
  middleware.registerMiddleware('tool_execution', async ({ signal }) => {
    controller.abort(reason)
    signal.throwIfAborted()
  })
  let ran = false
  const handler = async () => {
    ran = true
  }
  assert.equal(await rejection(middleware.tool(toolCall({ signal: controller.signal, handler }))), reason)
  assert.equal(ran, false)
  assert.deepEqual(warnings(log), [])
})

test('a callback that fails because of an abort after the tool has run ends the call with the abort', async () => {
  const { middleware } = setUp()
  const controller = new AbortController()
  middleware.registerMiddleware('tool_execution', async ({ next_call, signal }) => {
    await next_call()
    controller.abort(reason)
    signal.throwIfAborted()
  })
  assert.equal(await rejection(middleware.tool(toolCall({ signal: controller.signal }))), reason)
})

test('a call that ends within the grace period after an abort is awaited', async () => {
  const { middleware, log } = setUp()
  middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call())
  const controller = new AbortController()
  const call = toolCall({
    signal: controller.signal,
    handler: async (_args, signal) => {
      controller.abort(reason)
      signal.throwIfAborted()
    },
  })
  assert.equal(await rejection(middleware.tool(call)), reason)
  // The time of grace, which is nothing here, is over by then.
  await new Promise((resolve) => setTimeout(resolve, 2))
  assert.deepEqual(warnings(log), [])
})

test('after an abort, a callback that fails open is not skipped and the call rejects with the abort reason', async () => {
  const leave = async () => {
    controller.abort(reason)
    throw new TypeError('confused')
  }
  let controller = new AbortController()
  const registrations = [
    (on: Middleware) => on.registerMiddleware('tool_request', leave),
    (on: Middleware) => on.registerMiddleware('tool_execution', leave),
    (on: Middleware) => on.registerGuardrail('open', 'tool', leave, { fails: 'open' }),
    (on: Middleware) => on.registerIntercept('open', 'tool_request', leave, { fails: 'open' }),
    (on: Middleware) => on.registerIntercept('open', 'tool_execution', leave, { fails: 'open' }),
  ]
  for (const register of registrations) {
    controller = new AbortController()
    const { middleware, log } = setUp()
    register(middleware)
    assert.equal(await rejection(middleware.tool(toolCall({ signal: controller.signal }))), reason, String(register))
    assert.deepEqual(warnings(log), [])
  }
})

test('a call that was aborted before it began runs nothing', async () => {
  const { middleware } = setUp()
  let asked = false
  middleware.registerGuardrail('g', 'tool', () => {
    asked = true
    return null
  })
  assert.equal(await rejection(middleware.tool(toolCall({ signal: AbortSignal.abort(reason) }))), reason)
  assert.equal(asked, false)
})

test('a callback that hangs does not delay an aborted call, and starts nothing later', async () => {
  const { middleware, log } = setUp()
  const events = recordEvents(middleware)
  const controller = new AbortController()
  const wait = deferred()
  const later = Promise.withResolvers<unknown>()
  middleware.registerMiddleware('tool_execution', async ({ next_call }) => {
    controller.abort(reason)
    await wait.promise
    later.resolve(await rejection(next_call()))
  })
  let ran = false
  const handler = async () => {
    ran = true
  }
  assert.equal(await rejection(middleware.tool(toolCall({ signal: controller.signal, handler }))), reason)
  wait.resolve()
  assert.equal(await later.promise, reason)
  await new Promise(setImmediate)
  assert.equal(ran, false)
  assert.deepEqual(warnings(log), ['middleware.call_detached'])
  await middleware.flush()
  assert.equal(events.length, 2)
  assert.equal(events[1]?.metadata?.['error.type'], 'cancelled')
})

test('a guardrail that hangs does not delay a cancelled call, and the tool does not run when the guardrail resolves later', async () => {
  const { middleware } = setUp()
  const controller = new AbortController()
  const wait = deferred()
  middleware.registerGuardrail('slow', 'tool', async () => {
    controller.abort(reason)
    await wait.promise
    return null
  })
  let ran = false
  const policy = () => {
    ran = true
    return {}
  }
  assert.equal(await rejection(middleware.tool(toolCall({ signal: controller.signal, policy }))), reason)
  wait.resolve()
  await new Promise(setImmediate)
  assert.equal(ran, false)
})

test('a running tool is awaited, also after an abort, because it may have an effect', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call())
  const controller = new AbortController()
  const call = toolCall({
    signal: controller.signal,
    async handler() {
      controller.abort(reason)
      // Longer than the time of grace, which is nothing here.
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
      return 'written'
    },
  })
  assert.equal(await middleware.tool(call), 'written')
})

test('the signals that callbacks get abort with the signal of the caller', async () => {
  const { middleware } = setUp()
  const controller = new AbortController()
  const seen: boolean[] = []
  for (const name of ['a', 'b'])
    middleware.registerIntercept(name, 'tool_execution', async ({ signal }, next) => {
      const result = await next()
      seen.push(signal.aborted)
      return result
    })
  const call = toolCall({
    signal: controller.signal,
    async handler(_args, signal) {
      controller.abort(reason)
      seen.push(signal.aborted)
      return 'done'
    },
  })
  assert.equal(await middleware.tool(call), 'done')
  assert.deepEqual(seen, [true, true, true])
})

test('a call leaves no listener on the signal of its caller', async () => {
  const { middleware } = setUp()
  recordEvents(middleware)
  middleware.registerIntercept('i', 'tool_execution', (_call, next) => next())
  const signal = new AbortController().signal
  let listeners = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  Object.assign(signal, {
    addEventListener(...given: Parameters<typeof add>) {
      listeners += 1
      add(...given)
    },
    removeEventListener(...given: Parameters<typeof remove>) {
      listeners -= 1
      remove(...given)
    },
  })
  await middleware.tool(toolCall({ signal }))
  await rejection(middleware.tool(toolCall({ signal, handler: () => Promise.reject(reason) })))
  assert.equal(listeners, 0)
})

test('an error that a callback throws instead of an abort does not replace it', async () => {
  for (const family of ['nemo', 'hermes'] as const) {
    const { middleware } = setUp()
    const events = recordEvents(middleware)
    const replace = () => {
      throw new TypeError('translated')
    }
    if (family === 'nemo') middleware.registerIntercept('i', 'tool_execution', (_call, next) => next().catch(replace))
    else middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call().catch(replace))
    const controller = new AbortController()
    const call = toolCall({
      signal: controller.signal,
      handler: async (_args, signal) => {
        controller.abort(reason)
        signal.throwIfAborted()
      },
    })
    assert.equal(await rejection(middleware.tool(call)), reason, family)
    await middleware.flush()
    assert.equal(events.at(-1)?.metadata?.['error.type'], 'cancelled', family)
  }
})
