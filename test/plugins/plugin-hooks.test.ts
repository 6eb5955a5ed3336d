/**
 * Callbacks of plugins are called alone, in order and for a bounded time, whatever they do.
 */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { isHermesError } from '../../src/lib/errors.ts'
import { asRecord } from '../../src/lib/json.ts'
import type { HookPayload } from '../../src/plugins/hook-map.ts'
import { createTestHooks, dispatchContext, neverSettles } from './support.ts'

const output = { response_text: 'hello', session_id: 's1', model: 'small', platform: 'web' }
const tool = {
  tool_name: 'terminal',
  args: { command: 'ls', nested: { list: [1, 2] } },
  task_id: 's1',
  session_id: 's1',
  tool_call_id: 'c1',
  turn_id: 't1',
  api_request_id: 'r1',
  role: 'owner' as const,
  middleware_trace: [],
}
const started = { session_id: 's1', model: 'small', platform: 'web' }
const turnBegins = {
  ...started,
  task_id: 's1',
  turn_id: 't1',
  user_message: '',
  conversation_history: [],
  is_first_turn: true,
  parent_session_id: '',
  sender_id: '',
  role: 'owner' as const,
}

test('results are in the order of registration, and a callback without a result is omitted', async () => {
  const { hooks, time } = createTestHooks()
  hooks.register('slow', 'transform_llm_output', async () => {
    await time.sleep(1_000)
    return 'one'
  })
  hooks.register('silent', 'transform_llm_output', () => null)
  hooks.register('void', 'transform_llm_output', () => undefined)
  hooks.register('empty', 'transform_llm_output', () => '')
  hooks.register('quick', 'transform_llm_output', () => 'two')
  const answers = hooks.collect('transform_llm_output', dispatchContext, () => output)
  await time.advance(1_000)
  assert.deepEqual(await answers, [
    { owner: 'slow', value: 'one' },
    { owner: 'empty', value: '' },
    { owner: 'quick', value: 'two' },
  ])
})

test('a callback receives one object with the keys of the contract, the version and the route', async () => {
  const { hooks } = createTestHooks()
  const got: unknown[][] = []
  hooks.register('a', 'transform_llm_output', (...args) => {
    got.push(args)
    return null
  })
  await hooks.collect('transform_llm_output', dispatchContext, () => output)
  assert.deepEqual(got, [[{ ...output, telemetry_schema_version: 'hermes.observer.v1', route: 'web_dm' }]])
})

test('the events of platforms carry no version, as in the contract', async () => {
  const { hooks, drained } = createTestHooks()
  const got: object[] = []
  hooks.register('a', 'gateway_platform_event', (payload) => void got.push({ ...payload }))
  hooks.notify('gateway_platform_event', dispatchContext, () => ({
    platform: 'web',
    event_type: 'reaction',
    payload: {},
  }))
  await drained()
  assert.deepEqual(got, [{ platform: 'web', event_type: 'reaction', payload: {}, route: 'web_dm' }])
})

test('without listeners no payload is built', async () => {
  const { hooks } = createTestHooks()
  const build = () => assert.fail('a payload was built without listeners')
  assert.equal(hooks.hasListeners('transform_llm_output'), false)
  assert.deepEqual(await hooks.collect('transform_llm_output', dispatchContext, build), [])
  hooks.notify('on_session_start', dispatchContext, build)
})

test('a callback that modifies its payload does not affect other callbacks or the agent', async () => {
  const { hooks } = createTestHooks()
  const seen: unknown[] = []
  hooks.register('vandal', 'pre_tool_call', (payload) => {
    Object.assign(payload, { tool_name: 'rm' })
    Object.assign(payload.args, { command: 'rm -rf /' })
    const { nested } = payload.args
    if (typeof nested === 'object' && nested !== null && 'list' in nested && Array.isArray(nested.list))
      nested.list.push(3)
    assert.deepEqual(payload.args, { command: 'rm -rf /', nested: { list: [1, 2, 3] } })
    return null
  })
  hooks.register('next', 'pre_tool_call', ({ tool_name, args }) => {
    seen.push(tool_name, args)
    return null
  })
  await hooks.collect('pre_tool_call', dispatchContext, () => tool)
  assert.deepEqual(seen, ['terminal', { command: 'ls', nested: { list: [1, 2] } }])
  assert.deepEqual(tool.args, { command: 'ls', nested: { list: [1, 2] } })
})

test('payloads are copied lazily and support enumeration, spreading, copying and writing', async () => {
  const { hooks } = createTestHooks()
  let reads = 0
  const args = new Proxy(
    { command: 'ls' },
    {
      ownKeys(target) {
        reads += 1
        return Reflect.ownKeys(target)
      },
    },
  )
  hooks.register('blind', 'pre_tool_call', ({ tool_name }) => void tool_name)
  await hooks.collect('pre_tool_call', dispatchContext, () => ({ ...tool, args }))
  assert.equal(reads, 0)

  const shown: string[] = []
  hooks.register('looking', 'pre_tool_call', (payload) => {
    shown.push(inspect(payload), JSON.stringify(payload), JSON.stringify(structuredClone(payload)))
  })
  await hooks.collect('pre_tool_call', dispatchContext, () => tool)
  assert.equal(shown.length, 3)
  for (const text of shown) assert.match(text, /command.+ls.+hermes\.observer\.v1/s)
})

test('a key __proto__ in tool arguments is an ordinary key', async () => {
  const { hooks } = createTestHooks()
  const args = JSON.parse('{"__proto__": {"admin": {"yes": true}}, "a": {"__proto__": 1}}')
  const seen: unknown[] = []
  hooks.register('a', 'pre_tool_call', (payload) => void seen.push(JSON.stringify(payload.args), payload.args['admin']))
  await hooks.collect('pre_tool_call', dispatchContext, () => ({ ...tool, args }))
  assert.deepEqual(seen, ['{"__proto__":{"admin":{"yes":true}},"a":{"__proto__":1}}', undefined])
})

test('a callback that throws is skipped, and the others return their results', async () => {
  const { hooks, warnings } = createTestHooks()
  hooks.register('broken', 'transform_llm_output', () => {
    throw new Error('no such key')
  })
  hooks.register('late', 'transform_llm_output', () => Promise.reject(new Error('no network')))
  hooks.register('odd', 'transform_llm_output', () => Promise.reject('a text'))
  hooks.register('well', 'transform_llm_output', () => 'fine')
  assert.deepEqual(await hooks.collect('transform_llm_output', dispatchContext, () => output), [
    { owner: 'well', value: 'fine' },
  ])
  assert.deepEqual(warnings().sort(), [
    ['plugin.callback_failed', 'broken', 'transform_llm_output'],
    ['plugin.callback_failed', 'late', 'transform_llm_output'],
    ['plugin.callback_failed', 'odd', 'transform_llm_output'],
  ])
})

test('the first of several equal failures is a warning with the payload keys, the others are logged at level debug', async () => {
  const { hooks, log } = createTestHooks()
  let text = 'one'
  hooks.register('broken', 'on_session_start', () => {
    throw new Error(text)
  })
  for (const next of ['one', 'one', 'two', 'one']) {
    text = next
    hooks.notify('on_session_start', dispatchContext, () => started)
    await hooks.drain(10_000)
  }
  assert.deepEqual(
    log.records.map(({ level, fields }) => [level, fields['reason']]),
    [
      ['warn', 'one'],
      ['debug', 'one'],
      ['warn', 'two'],
      ['debug', 'one'],
    ],
  )
  assert.deepEqual(log.records[0]?.fields['keys'], [
    'session_id',
    'model',
    'platform',
    'telemetry_schema_version',
    'route',
  ])
})

test('a callback that times out is skipped for a minute and then called again', async () => {
  const { hooks, time, warnings } = createTestHooks()
  let calls = 0
  hooks.register('hanging', 'transform_llm_output', () => {
    calls += 1
    return calls === 1 ? neverSettles() : 'back'
  })
  hooks.register('well', 'transform_llm_output', () => 'fine')
  const first = hooks.collect('transform_llm_output', dispatchContext, () => output)
  await time.advance(29_999)
  assert.equal(calls, 1)
  await time.advance(1)
  assert.deepEqual(await first, [{ owner: 'well', value: 'fine' }])
  assert.deepEqual(warnings(), [['plugin.callback_failed', 'hanging', 'transform_llm_output']])

  await time.advance(59_999)
  assert.equal((await hooks.collect('transform_llm_output', dispatchContext, () => output)).length, 1)
  assert.equal(calls, 1)
  await time.advance(1)
  assert.deepEqual((await hooks.collect('transform_llm_output', dispatchContext, () => output))[0], {
    owner: 'hanging',
    value: 'back',
  })
})

test('at most three hanging calls of one callback are pending', async () => {
  const { hooks, time } = createTestHooks()
  const hanging: ((value: string) => void)[] = []
  hooks.register('hanging', 'transform_llm_output', () => new Promise<string>((resolve) => hanging.push(resolve)))
  for (let round = 0; round < 5; round += 1) {
    const asked = hooks.collect('transform_llm_output', dispatchContext, () => output)
    await time.advance(30_000)
    assert.deepEqual(await asked, [])
    await time.advance(60_000)
  }
  assert.equal(hanging.length, 3)
  assert.equal(hooks.report('hanging')[0]?.abandoned, 3)
  hanging[0]?.('too late')
  await time.flush()
  const asked = hooks.collect('transform_llm_output', dispatchContext, () => output)
  await time.flush()
  hanging[3]?.('in time')
  assert.deepEqual(await asked, [{ owner: 'hanging', value: 'in time' }])
})

test('a failure after the timeout is logged at level debug', async () => {
  const { hooks, time, log } = createTestHooks()
  let fail: (error: Error) => void = () => undefined
  hooks.register('late', 'transform_llm_output', () => new Promise<string>((_, reject) => (fail = reject)))
  const asked = hooks.collect('transform_llm_output', dispatchContext, () => output)
  await time.advance(30_000)
  await asked
  fail(new Error('at last'))
  await time.flush()
  assert.equal(log.records.at(-1)?.level, 'debug')
  assert.equal(log.records.at(-1)?.fields['event'], 'plugin.callback_failed_late')
})

test('the timeout of a callback can be set per registration and can be disabled', async () => {
  const { hooks, time, settings } = createTestHooks()
  hooks.register('hasty', 'transform_llm_output', neverSettles, { timeoutMs: 50 })
  const hasty = hooks.collect('transform_llm_output', dispatchContext, () => output)
  await time.advance(50)
  assert.deepEqual(await hasty, [])

  settings.timeoutMs = 0
  hooks.register('pending', 'pre_llm_call', async () => {
    await time.sleep(3_600_000)
    return 'an hour later'
  })
  const pending = hooks.collect('pre_llm_call', dispatchContext, () => turnBegins)
  await time.advance(3_600_000)
  assert.deepEqual(await pending, [{ owner: 'pending', value: 'an hour later' }])
})

const failures = {
  throws: () => {
    throw new Error('broken')
  },
  hangs: neverSettles,
} as const

for (const [how, callback] of Object.entries(failures)) {
  test(`a check of a tool that ${how} is skipped, unless the configuration or its registration says otherwise`, async () => {
    const { hooks, time, settings } = createTestHooks()
    const ask = async () => {
      const asked = hooks.collect('pre_tool_call', dispatchContext, () => tool)
      await time.advance(30_000)
      const answers = await asked
      await time.advance(60_000)
      return answers.map(({ owner }) => owner)
    }
    hooks.register('plain', 'pre_tool_call', callback)
    hooks.register('strict', 'pre_tool_call', callback, { fails: 'closed' })
    hooks.register('easy', 'pre_tool_call', callback, { fails: 'open' })
    assert.deepEqual(await ask(), ['strict'])
    settings.toolErrors = 'closed'
    assert.deepEqual(await ask(), ['plain', 'strict'])
  })
}

test('a check that fails closed also blocks while it is skipped after a timeout', async () => {
  const { hooks, time } = createTestHooks()
  hooks.register('strict', 'pre_tool_call', neverSettles, { fails: 'closed' })
  const asked = hooks.collect('pre_tool_call', dispatchContext, () => tool)
  await time.advance(30_000)
  await asked
  const [result, ...more] = await hooks.collect('pre_tool_call', dispatchContext, () => tool)
  assert.deepEqual([result?.owner, asRecord(result?.value)['action'], more], ['strict', 'block', []])
  assert.match(String(asRecord(result?.value)['message']), /\bstrict\b/)
})

test('only pre_tool_call can fail closed; other hooks log a warning', async () => {
  const { hooks, warnings } = createTestHooks()
  hooks.register('keen', 'transform_llm_output', failures.throws, { fails: 'closed' })
  assert.deepEqual(warnings(), [['plugin.fails_closed_ignored', 'keen', 'transform_llm_output']])
  assert.deepEqual(await hooks.collect('transform_llm_output', dispatchContext, () => output), [])
})

test('an unknown hook name is accepted with a warning that suggests a similar name', () => {
  const { hooks, log, warnings } = createTestHooks()
  hooks.registerNamed('a', 'pre_tol_call', () => null)
  const odd = hooks.registerNamed('a', 'kanban_task_claimed', () => null)
  assert.deepEqual(warnings(), [
    ['plugin.unknown_hook', 'a', 'pre_tol_call'],
    ['plugin.unknown_hook', 'a', 'kanban_task_claimed'],
  ])
  assert.deepEqual(
    log.records.map(({ fields }) => fields['suggestion']),
    ['pre_tool_call', undefined],
  )
  assert.deepEqual(
    hooks.report('a').map(({ point }) => point),
    ['pre_tol_call', 'kanban_task_claimed'],
  )
  assert.equal(odd.remove(), true)
  assert.equal(odd.remove(), false)
})

test('a removed callback is not called again, and a running call completes', async () => {
  const { hooks, time } = createTestHooks()
  const registration = hooks.register('a', 'transform_llm_output', async () => {
    await time.sleep(10)
    return 'still'
  })
  const asked = hooks.collect('transform_llm_output', dispatchContext, () => output)
  await time.flush()
  registration.remove()
  await time.advance(10)
  assert.deepEqual(await asked, [{ owner: 'a', value: 'still' }])
  assert.equal(hooks.hasListeners('transform_llm_output'), false)
})

test('notifications do not block the caller, and their payloads are snapshots', async () => {
  const { hooks, drained } = createTestHooks()
  const got: string[] = []
  hooks.register('a', 'on_session_start', ({ session_id }) => void got.push(session_id))
  const mutable = { ...started }
  hooks.notify('on_session_start', dispatchContext, () => mutable)
  mutable.session_id = 'changed'
  assert.deepEqual(got, [])
  await drained()
  assert.deepEqual(got, ['s1'])
})

test('notifications of a conversation arrive in order and before the next turn', async () => {
  const { hooks, time } = createTestHooks()
  const got: string[] = []
  hooks.register('a', 'on_session_start', async () => {
    await time.sleep(500)
    got.push('started')
  })
  hooks.register('a', 'on_session_reset', () => void got.push('reset'))
  hooks.register('a', 'pre_llm_call', () => void got.push('turn'))
  hooks.register('b', 'pre_llm_call', () => void got.push('turn of another'))
  hooks.notify('on_session_start', dispatchContext, () => started)
  hooks.notify('on_session_reset', dispatchContext, () => ({
    session_id: 's2',
    platform: 'web',
    reason: 'new',
    old_session_id: 's1',
    new_session_id: 's2',
  }))
  const asked = hooks.collect('pre_llm_call', dispatchContext, () => turnBegins)
  await time.advance(500)
  await asked
  assert.deepEqual(got, ['turn of another', 'started', 'reset', 'turn'])
})

test('within a turn the caller does not wait for observers, not even before results of the same plugin', async () => {
  const { hooks, time } = createTestHooks()
  hooks.register('a', 'on_session_start', () => time.sleep(500))
  hooks.register('a', 'pre_tool_call', () => ({ action: 'block', message: 'no' }))
  hooks.notify('on_session_start', dispatchContext, () => started)
  assert.equal((await hooks.collect('pre_tool_call', dispatchContext, () => tool)).length, 1)
  await time.advance(500)
})

test('a removed callback receives no queued notifications', async () => {
  const { hooks, drained } = createTestHooks()
  const registration = hooks.register('a', 'on_session_start', () => assert.fail('called after it was taken away'))
  hooks.notify('on_session_start', dispatchContext, () => started)
  registration.remove()
  assert.equal(await drained(), true)
  assert.deepEqual(hooks.report('a'), [])
})

test('conversations and plugins do not wait for each other', async () => {
  const { hooks, time } = createTestHooks()
  const got: string[] = []
  hooks.register('slow', 'on_session_start', async ({ session_id }) => {
    if (session_id === 's1') await time.sleep(500)
    got.push(`slow ${session_id}`)
  })
  hooks.register('quick', 'on_session_start', ({ session_id }) => void got.push(`quick ${session_id}`))
  hooks.notify('on_session_start', dispatchContext, () => started)
  hooks.notify('on_session_start', { ...dispatchContext, queueKey: 'another' }, () => ({
    ...started,
    session_id: 's2',
  }))
  await time.flush()
  assert.deepEqual(got.sort(), ['quick s1', 'quick s2', 'slow s2'])
  await time.advance(500)
  assert.equal(got.at(-1), 'slow s1')
})

test('a callback without a timeout delays its own plugin for a limited time', async () => {
  const { hooks, time } = createTestHooks()
  const got: string[] = []
  hooks.register('a', 'on_session_finalize', neverSettles)
  hooks.register('a', 'on_session_start', () => void got.push('started'))
  hooks.notify('on_session_finalize', dispatchContext, () => ({
    session_id: null,
    platform: 'web',
    reason: 'stop',
    old_session_id: null,
    new_session_id: null,
  }))
  hooks.notify('on_session_start', dispatchContext, () => started)
  await time.advance(30_000)
  assert.deepEqual(got, ['started'])
  assert.equal(hooks.report('a')[0]?.failures, 0)
})

test('a slow plugin has a bounded queue; further notifications are dropped and counted', async () => {
  const { hooks, time, warnings } = createTestHooks()
  let received = 0
  hooks.register('slow', 'on_stream_delta', async () => {
    received += 1
    await time.sleep(1_000)
  })
  const delta: Omit<HookPayload<'on_stream_delta'>, 'route' | 'telemetry_schema_version'> = {
    session_id: 's1',
    turn_id: 't1',
    iteration: 1,
    model: 'small',
    provider: 'openai',
    surface: 'gateway',
    delta: 'a',
    kind: 'text',
  }
  for (let index = 0; index < 1_500; index += 1) hooks.notify('on_stream_delta', dispatchContext, () => delta)
  await time.flush()
  assert.equal(received, 1)
  assert.equal(hooks.report('slow')[0]?.dropped, 500)
  assert.deepEqual(warnings(), [['plugin.notification_dropped', 'slow', 'on_stream_delta']])
  const other: string[] = []
  hooks.register('slow', 'post_llm_call', () => void other.push('received'))
  hooks.notify('post_llm_call', dispatchContext, () => ({
    ...started,
    task_id: 's1',
    turn_id: 't1',
    user_message: '',
    assistant_response: '',
    conversation_history: [],
  }))
  await time.flush()
  assert.deepEqual(other, ['received'])
})

test('a stop can wait for pending notifications, up to a limit or an abort', async () => {
  const { hooks, time } = createTestHooks()
  hooks.register('slow', 'on_session_start', () => time.sleep(1_000))
  hooks.notify('on_session_start', dispatchContext, () => started)
  const force = new AbortController()
  const aborted = hooks.drain(60_000, force.signal)
  force.abort()
  assert.equal(await aborted, false)
  const drained = hooks.drain(60_000)
  await time.advance(1_000)
  assert.equal(await drained, true)
})

test('a queued notification runs in the async context of its own caller', async () => {
  const { hooks, drained } = createTestHooks()
  const turn = new AsyncLocalStorage<string>()
  const found: unknown[] = []
  hooks.register('a', 'on_session_start', async ({ session_id }) => {
    await Promise.resolve()
    found.push([session_id, turn.getStore()])
  })
  for (const name of ['one', 'two', 'three'])
    turn.run(name, () => hooks.notify('on_session_start', dispatchContext, () => ({ ...started, session_id: name })))
  await drained()
  assert.deepEqual(found, [
    ['one', 'one'],
    ['two', 'two'],
    ['three', 'three'],
  ])
})

test('an unreadable result is a failure of its callback, and results are copied', async () => {
  const { hooks, warnings } = createTestHooks()
  const trap = () => {
    throw new Error('trapped')
  }
  const circle: { args: Record<string, unknown>; action: string } = { action: 'modify', args: {} }
  circle.args['itself'] = circle
  const kept = { action: 'modify', args: { nested: { path: 'agreed' } } }
  const answers: unknown[] = [
    Object.defineProperty({}, 'action', { enumerable: true, get: trap }),
    new Proxy({}, { ownKeys: trap }),
    { action: 'modify', args: new Proxy({}, { getPrototypeOf: trap }) },
    circle,
    kept,
  ]
  for (const [index, answer] of answers.entries()) hooks.registerNamed(`p${index}`, 'pre_tool_call', () => answer)
  const found = await hooks.collect('pre_tool_call', dispatchContext, () => tool)
  kept.args.nested.path = 'changed'
  assert.deepEqual(found, [{ owner: 'p4', value: { action: 'modify', args: { nested: { path: 'agreed' } } } }])
  assert.equal(warnings().length, 4)
})

test('a result with a key __proto__ changes no prototype', async () => {
  const { hooks } = createTestHooks()
  const answer: unknown = JSON.parse('{"action": "modify", "args": {"__proto__": {"polluted": true}}}')
  hooks.registerNamed('a', 'pre_tool_call', () => answer)
  const [found] = await hooks.collect('pre_tool_call', dispatchContext, () => tool)
  assert.equal(JSON.stringify(found?.value), JSON.stringify(answer))
  assert.equal(Reflect.get({}, 'polluted'), undefined)
})

test('a registration with an invalid failure mode or timeout is rejected', () => {
  const { hooks } = createTestHooks()
  const refused: unknown[] = [
    { fails: 'close' },
    { fails: true },
    { timeoutMs: '5' },
    { timeoutMs: -1 },
    { timeoutMs: Number.NaN },
  ]
  for (const options of refused) {
    assert.throws(
      () => Reflect.apply(hooks.register, hooks, ['a', 'pre_tool_call', () => null, options]),
      (error) => isHermesError(error, 'plugins/invalid-registration'),
      JSON.stringify(options),
    )
  }
  assert.equal(hooks.hasListeners('pre_tool_call'), false)
})
