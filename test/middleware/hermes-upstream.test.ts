/**
 * The tests that Hermes has for its middleware (`tests/hermes_cli/test_plugins.py` and the older file of helpers), by their
 * names there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HermesError } from '../../src/lib/errors.ts'
import type { LlmRequestPayload, ToolRequestPayload } from '../../src/middleware/contract.ts'
import type { RewriteTrace } from '../../src/middleware/managed-call.ts'
import { modelCall, rejection, setUp, toolCall, warnings } from './support.ts'

/** A tool that counts its runs. */
function counted(run: () => unknown = () => 'result') {
  const calls: unknown[] = []
  return {
    calls,
    handler: async (args: unknown) => {
      calls.push(args)
      return run()
    },
  }
}

test('test_plugin_can_register_and_invoke_middleware', async () => {
  const { middleware } = setUp()
  const plugin = middleware.forPlugin('demo')
  const seen: (LlmRequestPayload | ToolRequestPayload)[] = []
  plugin.registerMiddleware('llm_request', (payload) => {
    seen.push(payload)
    return { request: { ...payload.request, tagged: true } }
  })
  plugin.registerMiddleware('tool_request', (payload) => {
    seen.push(payload)
    return { args: { ...payload.args, tagged: true } }
  })
  let request: unknown
  await middleware.model(
    modelCall([], {
      onRequest(effective) {
        request = effective
      },
    }),
  )
  const tool = counted()
  await middleware.tool(toolCall(tool))
  assert.equal(
    Object.entries(request ?? {}).some(([key]) => key === 'tagged'),
    true,
  )
  assert.deepEqual(tool.calls, [{ path: 'notes.txt', tagged: true }])
  for (const payload of seen) {
    assert.equal(payload.telemetry_schema_version, 'hermes.observer.v1')
    assert.equal(payload.middleware_schema_version, 'hermes.middleware.v1')
  }
  assert.equal(seen.length, 2)
})

test('test_execution_middleware_does_not_retry_downstream_failure', async () => {
  const { middleware } = setUp()
  const failure = new Error('provider failed')
  middleware.registerMiddleware('tool_execution', ({ next_call, args }) => next_call(args))
  const tool = counted(() => {
    throw failure
  })
  assert.equal(await rejection(middleware.tool(toolCall(tool))), failure)
  assert.equal(tool.calls.length, 1)
})

test('test_middleware_helpers_skip_no_listener_work', async () => {
  const { middleware } = setUp()
  const tool = counted()
  const call = toolCall(tool)
  let trace: RewriteTrace | undefined
  await middleware.tool({
    ...call,
    policy: (args, given) => {
      trace = given
      return args
    },
  })
  assert.equal(tool.calls[0], call.args, 'the same object by reference')
  assert.deepEqual(trace, [])
})

test('test_request_middleware_changed_tracks_trace_not_deep_equality', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args }, source: 'noop-policy' }))
  let trace: RewriteTrace | undefined
  await middleware.tool(
    toolCall({
      policy: (args, given) => {
        trace = given
        return args
      },
    }),
  )
  assert.deepEqual(trace, [{ source: 'noop-policy' }])
})

test('test_execution_middleware_post_next_call_error_does_not_retry', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware('tool_execution', async ({ next_call }) => {
    await next_call()
    throw new Error('post-processing failed')
  })
  const tool = counted()
  assert.equal(await middleware.tool(toolCall(tool)), 'result')
  assert.equal(tool.calls.length, 1)
})

test('test_execution_middleware_pre_next_call_error_fails_open_to_remaining_chain', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware('tool_execution', () => Promise.reject(new Error('setup failed')))
  middleware.registerMiddleware('tool_execution', ({ next_call, args }) => next_call({ ...args, second: true }))
  const tool = counted()
  assert.equal(await middleware.tool(toolCall(tool)), 'result')
  assert.deepEqual(tool.calls, [{ path: 'notes.txt', second: true }])
})

test('test_execution_middleware_translated_downstream_failure_is_not_masked', async () => {
  const { middleware } = setUp()
  const translated = new HermesError('provider/auth', 'translated')
  middleware.registerMiddleware('tool_execution', async ({ next_call }) => {
    try {
      return await next_call()
    } catch {
      throw translated
    }
  })
  const tool = counted(() => {
    throw new Error('downstream')
  })
  assert.equal(await rejection(middleware.tool(toolCall(tool))), translated)
  assert.equal(tool.calls.length, 1)
})

test('test_execution_middleware_downstream_base_exception_is_not_wrapped', async () => {
  const { middleware } = setUp()
  const controller = new AbortController()
  middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call().catch(() => 'swallowed'))
  const interrupt = new DOMException('stopped', 'AbortError')
  const tool = counted(() => {
    controller.abort(interrupt)
    throw interrupt
  })
  assert.equal(await rejection(middleware.tool(toolCall({ ...tool, signal: controller.signal }))), interrupt)
})

test('test_execution_middleware_double_next_call_does_not_run_terminal_twice', async () => {
  const { middleware } = setUp()
  middleware.registerMiddleware('tool_execution', async ({ next_call }) => {
    await next_call()
    return await next_call()
  })
  const tool = counted()
  assert.equal(await middleware.tool(toolCall(tool)), 'result')
  assert.equal(tool.calls.length, 1)
})

test('test_request_middleware_tolerates_non_deepcopyable_payload', async () => {
  const { middleware } = setUp()
  const handle = new (class Handle {
    readonly lock = new Map()
  })()
  let seen: unknown
  middleware.registerMiddleware('tool_request', ({ args }) => {
    seen = args['handle']
    return { args: { ...args, tagged: true } }
  })
  const tool = counted()
  await middleware.tool(toolCall({ ...tool, args: { handle } }))
  assert.equal(seen, handle, 'shared, since it cannot be copied')
  assert.deepEqual(tool.calls, [{ handle, tagged: true }])
})

test('test_module_level_invoke_middleware_lazily_discovers', async () => {
  // There is no module-level state here: what is registered later takes part from the next call on.
  const { middleware } = setUp()
  const tool = counted()
  await middleware.tool(toolCall(tool))
  middleware.registerMiddleware('tool_request', () => ({ args: { late: true } }))
  await middleware.tool(toolCall(tool))
  assert.deepEqual(tool.calls, [{ path: 'notes.txt' }, { late: true }])
})

test('test_tool_request_middleware_preserves_original_nested_payload', async () => {
  const { middleware } = setUp()
  const args = { options: { depth: 1 } }
  let original: unknown
  middleware.registerMiddleware('tool_request', (payload) => {
    const options = payload.args['options']
    if (typeof options === 'object' && options !== null) Object.assign(options, { depth: 2 })
    return { args: payload.args }
  })
  middleware.registerMiddleware('tool_request', (payload) => {
    original = payload.original_args
    return null
  })
  const tool = counted()
  await middleware.tool(toolCall({ ...tool, args }))
  assert.deepEqual(tool.calls, [{ options: { depth: 2 } }])
  assert.deepEqual(original, { options: { depth: 1 } })
  assert.deepEqual(args, { options: { depth: 1 } })
})

test('a callback with a wrong signature is logged as a warning once and at debug level afterwards', async () => {
  const { middleware, log } = setUp()
  middleware.registerMiddleware('tool_execution', function misdeclared() {
    throw new TypeError('misdeclared() takes no arguments')
  })
  for (let call = 0; call < 4; call++) assert.equal(await middleware.tool(toolCall(counted())), 'result')
  assert.equal(warnings(log).length, 1)
  assert.equal(log.records.filter(({ level }) => level === 'debug').length, 3)
})
