import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isHermesError } from '../../src/lib/errors.ts'
import type { MiddlewareRegistrar, Scope } from '../../src/middleware/contract.ts'
import { describeEvents, modelCall, recordEvents, rejection, setUp, toolCall } from './support.ts'

test('work runs in its scope, also after an await', async () => {
  const { middleware } = setUp()
  assert.equal(middleware.currentScope().parent, undefined)
  await middleware.scope({ name: 'session', type: 'agent' }, async (session) => {
    assert.equal(middleware.currentScope(), session)
    await middleware.scope({ name: 'turn' }, async (turn) => {
      await nextTurn()
      assert.equal(middleware.currentScope(), turn)
      assert.equal(turn.parent, session)
      assert.equal(turn.type, 'function')
    })
    assert.equal(middleware.currentScope(), session)
  })
})

test('concurrent sibling scopes are isolated from each other', async () => {
  const { middleware } = setUp()
  const seen = await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      middleware.scope({ name }, async (scope) => {
        scope.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, [name]: true } }))
        await nextTurn()
        assert.equal(middleware.currentScope(), scope)
        return middleware.tool(toolCall({ args: {} }))
      }),
    ),
  )
  assert.deepEqual(seen, [{ a: true }, { b: true }, { c: true }])
})

test('registrations on a scope apply inside it and end with it', async () => {
  const { middleware } = setUp()
  const tagged = () => middleware.tool(toolCall({ args: {} }))
  await middleware.scope({ name: 'turn' }, async (turn) => {
    turn.registerIntercept('tag', 'tool_request', ({ args }) => ({ ...args, tag: true }))
    assert.deepEqual(await tagged(), { tag: true })
    await middleware.scope({ name: 'iteration' }, async () => assert.deepEqual(await tagged(), { tag: true }))
    await middleware.scope({ name: 'other root', parent: null }, async () => assert.deepEqual(await tagged(), {}))
  })
  assert.deepEqual(await tagged(), {})
})

test('an explicit parent determines the position of a scope and its registrations', async () => {
  const { middleware } = setUp()
  let turn: Scope | undefined
  await middleware.scope({ name: 'turn' }, async (scope) => {
    turn = scope
    scope.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, turn: true } }))
    await middleware.scope({ name: 'elsewhere', parent: null }, async (elsewhere) => {
      assert.equal(elsewhere.parent, undefined)
      await middleware.scope({ name: 'sub-agent', parent: scope }, async (agent) => {
        assert.equal(agent.parent, turn)
        assert.deepEqual(await middleware.tool(toolCall({ args: {} })), { turn: true })
      })
    })
  })
})

test('a scope closes when its work fails, too, and the error stays the same object', async () => {
  const { middleware } = setUp()
  const fault = new TypeError('no')
  let scope: Scope | undefined
  const work = (inner: Scope) => {
    scope = inner
    assert.equal(inner.closed, false)
    return Promise.reject(fault)
  }
  assert.equal(await rejection(middleware.scope({ name: 'turn' }, work)), fault)
  assert.equal(scope?.closed, true)
})

test('a closed scope accepts no registrations, and its registrations are removed', async () => {
  const { middleware } = setUp()
  let kept: Scope | undefined
  const registration = await middleware.scope({ name: 'turn' }, async (scope) => {
    kept = scope
    return scope.registerGuardrail('g', 'tool', () => null)
  })
  assert.equal(registration.remove(), false)
  const error = await rejection(Promise.resolve().then(() => kept?.registerGuardrail('h', 'tool', () => null)))
  assert.ok(isHermesError(error, 'middleware/scope-closed'))
})

test('when the last registration was on a scope that closed, calls take the direct path again', async () => {
  const { middleware } = setUp()
  await middleware.scope({ name: 'turn' }, async (scope) => {
    scope.registerSubscriber('s', () => undefined)
    scope.registerGuardrail('g', 'tool', () => null).remove()
  })
  let asked = 0
  const fields = () => {
    asked += 1
    return {}
  }
  const call = toolCall({ fields })
  const plain = middleware.tool(call)
  assert.equal(await plain, call.args)
  assert.equal(asked, 0)
})

test('runInScope runs work in an existing scope and rejects foreign scopes', async () => {
  const { middleware } = setUp()
  const other = setUp().middleware
  await middleware.scope({ name: 'turn' }, async (turn) => {
    await middleware.scope({ name: 'elsewhere', parent: null }, async () => {
      const found = middleware.runInScope(turn, () => middleware.currentScope())
      assert.equal(found, turn)
      assert.equal(middleware.currentScope().name, 'elsewhere')
    })
    const copy = { ...turn }
    const fake = () => middleware.runInScope(JSON.parse(JSON.stringify(copy)), () => undefined)
    assert.ok(isHermesError(await rejection(Promise.resolve().then(fake)), 'middleware/foreign-scope'))
  })
  assert.equal(other.currentScope().parent, undefined)
})

test('a call that a tool makes is a child of the call that runs the tool', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  await middleware.scope({ name: 'turn' }, async (turn) => {
    await middleware.tool(
      toolCall({
        toolName: 'delegate',
        handler: () => Promise.all([middleware.tool(toolCall()), middleware.model(modelCall())]),
      }),
    )
    await middleware.flush()
    const delegate = events.find(({ name }) => name === 'delegate')
    assert.equal(delegate?.parent_uuid, turn.uuid)
    for (const name of ['read_file', 'openai'])
      assert.equal(events.find((event) => event.name === name)?.parent_uuid, delegate?.uuid)
  })
})

test('the scope of a call is closed when the call is over, however it ends', async () => {
  const { middleware } = setUp()
  const scopes: Scope[] = []
  middleware.registerMiddleware('tool_execution', ({ scope, next_call }) => {
    scopes.push(scope)
    return next_call()
  })
  await middleware.tool(toolCall())
  await rejection(middleware.tool(toolCall({ handler: () => Promise.reject(new Error('no')) })))
  assert.deepEqual(
    scopes.map(({ closed, name, parent }) => [closed, name, parent?.name]),
    [
      [true, 'read_file', 'root'],
      [true, 'read_file', 'root'],
    ],
  )
})

test('a registration between two calls applies from the next call on', async () => {
  const { middleware } = setUp()
  const add = (on: MiddlewareRegistrar, key: string) =>
    on.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, [key]: true } }))
  await middleware.scope({ name: 'turn' }, async (turn) => {
    const seen: unknown[] = []
    const call = async () => seen.push(await middleware.tool(toolCall({ args: {} })))
    const first = add(turn, 'a')
    await call()
    add(turn, 'b')
    await call()
    add(middleware, 'c')
    await call()
    first.remove()
    await call()
    assert.deepEqual(seen, [{ a: true }, { a: true, b: true }, { a: true, b: true, c: true }, { b: true, c: true }])
  })
})

test('a callback gets the scope it runs in', async () => {
  const { middleware } = setUp()
  const seen: string[] = []
  const look = (scope: Scope) => {
    assert.equal(scope, middleware.currentScope())
    seen.push(scope.name)
  }
  middleware.registerGuardrail('g', 'tool', ({ scope }) => void look(scope))
  middleware.registerIntercept('r', 'tool_request', ({ scope, args }) => {
    look(scope)
    return args
  })
  middleware.registerMiddleware('tool_request', ({ scope }) => void look(scope))
  middleware.registerIntercept('x', 'tool_execution', ({ scope }, next) => {
    look(scope)
    return next()
  })
  middleware.registerMiddleware('tool_execution', ({ scope, next_call }) => {
    look(scope)
    return next_call()
  })
  await middleware.scope({ name: 'turn' }, () => middleware.tool(toolCall()))
  assert.deepEqual(seen, ['turn', 'turn', 'turn', 'read_file', 'read_file'])
})

test('next restores the scope of the call for work that lost its async context', async () => {
  const { middleware } = setUp()
  const outside = middleware.currentScope()
  middleware.registerMiddleware('tool_execution', ({ next_call }) => middleware.runInScope(outside, () => next_call()))
  middleware.registerIntercept('lost', 'tool_execution', (_call, next) => middleware.runInScope(outside, () => next()))
  const name = await middleware.tool(toolCall({ handler: async () => middleware.currentScope().name }))
  assert.equal(name, 'read_file')
})

test('a subscriber registered on a scope receives its end event, not its start event', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  const own: string[] = []
  await middleware.scope(
    { name: 'turn', type: 'agent', input: { text: 'hi' }, metadata: { turn: 1 } },
    async (turn) => {
      turn.registerSubscriber('own', (event) => void own.push(`${event.scope_category} ${event.name}`))
      turn.mark('halfway', { percent: 50 })
    },
  )
  await middleware.flush()
  assert.deepEqual(describeEvents(events), ['agent start turn', 'agent mark halfway', 'agent end turn'])
  assert.deepEqual(own, ['undefined halfway', 'end turn'])
  const [start, mark, end] = events
  assert.deepEqual(start?.data, { text: 'hi' })
  assert.deepEqual(start?.metadata, { turn: 1 })
  assert.equal(mark?.parent_uuid, start?.uuid)
  assert.equal(end?.uuid, start?.uuid)
  assert.deepEqual(end?.metadata, { turn: 1, 'otel.status_code': 'OK' })
  assert.ok((end?.timestampUs ?? 0) > (start?.timestampUs ?? 0))
})

test('the end event of a scope whose work fails carries the error', async () => {
  const { middleware } = setUp()
  const events = recordEvents(middleware)
  await rejection(middleware.scope({ name: 'turn' }, () => Promise.reject(new TypeError('no'))))
  await middleware.flush()
  assert.equal(events[1]?.metadata?.['otel.status_code'], 'ERROR')
  assert.equal(events[1]?.metadata?.['exception.type'], 'TypeError')
})

test('the most careful declaration of a wrapper decides how a text may be shown', async () => {
  const { middleware } = setUp()
  const states: string[] = [middleware.streamedText()]
  for (const answers of ['unchanged', undefined, 'replaced'] as const) {
    const options = answers === undefined ? {} : { answers }
    middleware.registerIntercept(`wrapper ${answers}`, 'model_execution', (_call, next) => next(), options)
    states.push(middleware.streamedText())
  }
  assert.deepEqual(states, ['final', 'final', 'provisional', 'withheld'])
})

test('canChangeModelOutput is true if a registration may replace a whole response', async () => {
  const { middleware } = setUp()
  assert.equal(middleware.canChangeModelOutput(), false)
  middleware.registerIntercept('stream', 'model_stream', (_call, next) => next())
  assert.equal(middleware.canChangeModelOutput(), false, 'chunks are shown as the intercept leaves them')
  await middleware.scope({ name: 'turn' }, async (turn) => {
    turn.registerMiddleware('llm_execution', ({ next_call }) => next_call())
    assert.equal(middleware.canChangeModelOutput(), true)
  })
  assert.equal(middleware.canChangeModelOutput(), false)
})
