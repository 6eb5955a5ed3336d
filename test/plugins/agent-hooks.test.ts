/**
 * What several plugins say at one point of a turn becomes one answer, by fixed rules.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentHooks, RequestInfo, ToolInfo, TurnInfo } from '../../src/agent/support/agent-hooks.ts'
import type { ModelRequest } from '../../src/agent/support/model-request.ts'
import { asRecord } from '../../src/lib/json.ts'
import { createAgentHooks } from '../../src/plugins/agent-hooks.ts'
import { noopPluginMemory } from '../../src/plugins/plugin-memory.ts'
import { createTestHooks, createTurnInfo, type TestHooks } from './support.ts'

interface TestAgentHooks extends TestHooks {
  readonly agentHooks: AgentHooks
  readonly says: { streamReasoning: boolean }
}

function createTestAgentHooks(): TestAgentHooks {
  const under = createTestHooks()
  const { hooks, log } = under
  const says = { streamReasoning: false }
  const agentHooks = createAgentHooks(
    hooks,
    noopPluginMemory,
    () => says.streamReasoning,
    (text) => text.replaceAll('sk-1', '[redacted]'),
    log,
  )
  return { ...under, agentHooks, says }
}

const turn: TurnInfo = createTurnInfo()
const requestInfo: RequestInfo = { turn, apiRequestId: 'r1', iteration: 2, apiCallCount: 3, retryCount: 1 }
const toolInfo: ToolInfo = { turn, toolName: 'terminal', toolCallId: 'c1', apiRequestId: 'r1' }
const request: ModelRequest = { model: 'small', stream: true, messages: [{ role: 'user', content: 'hi' }], top_p: 1 }
const toolResult = { result: '{"ok":true}', status: 'ok', errorType: null, errorMessage: null, durationMs: 7 } as const
const envelope = { telemetry_schema_version: 'hermes.observer.v1', route: 'web_dm' } as const
const turnStart = { userMessage: 'hello', history: () => [{ role: 'user', content: 'hello' }], isFirstTurn: true }
const turnPart = { session_id: 's1', task_id: 's1', turn_id: 't1', model: 'small', platform: 'web' } as const

test('without plugins all values pass unchanged, and no payload is built', async () => {
  const { agentHooks } = createTestAgentHooks()
  const history = () => assert.fail('a history was built without listeners')
  const tools = [{ name: 'a' }]
  const args = { command: 'ls' }
  await agentHooks.onSessionStart(turn)
  assert.equal(await agentHooks.collectContext(turn, { ...turnStart, history }), '')
  assert.equal(await agentHooks.transformOutput(turn, 'answer'), 'answer')
  await agentHooks.onTurnResponse(turn, { userMessage: 'hello', response: 'hi', history })
  await agentHooks.onTurnEnd(turn, { completed: true, failed: false, interrupted: false, reason: 'stop' })
  assert.equal(agentHooks.outputMayChange(), false)
  assert.equal(await agentHooks.filterTools(turn, tools), tools)
  assert.equal(await agentHooks.rewriteRequest(requestInfo, request), request)
  assert.equal(await agentHooks.reissue(requestInfo, request, {}), null)
  const directive = await agentHooks.beforeToolCall(toolInfo, args, [])
  assert.ok(directive.kind === 'run' && directive.args === args)
  assert.equal(await agentHooks.transformToolResult(toolInfo, args, toolResult), toolResult.result)
})

// — pre_tool_call

test('a block takes precedence over approvals and changes of other plugins, in any order', async () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  hooks.register('a', 'pre_tool_call', () => ({ action: 'approve' }))
  hooks.register('b', 'pre_tool_call', () => ({ action: 'modify', args: { command: 'pwd' } }))
  hooks.register('c', 'pre_tool_call', () => ({ action: 'block', message: 'not today' }))
  hooks.register('d', 'pre_tool_call', () => ({ action: 'block', message: 'never' }))
  assert.deepEqual(await agentHooks.beforeToolCall(toolInfo, { command: 'ls' }, []), {
    kind: 'block',
    message: 'not today',
  })
})

test('a block without a message is ignored', async () => {
  const { hooks, agentHooks, warnings } = createTestAgentHooks()
  hooks.registerNamed('a', 'pre_tool_call', () => ({ action: 'block' }))
  hooks.registerNamed('b', 'pre_tool_call', () => ({ action: 'block', message: '  ' }))
  assert.deepEqual(await agentHooks.beforeToolCall(toolInfo, {}, []), { kind: 'run', args: {} })
  assert.deepEqual(warnings(), [
    ['plugin.invalid_result', 'a', 'pre_tool_call'],
    ['plugin.invalid_result', 'b', 'pre_tool_call'],
  ])
})

test('changes of arguments are merged by key, and the later one wins', async () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  hooks.register('a', 'pre_tool_call', () => ({ action: 'modify', args: { cwd: '/a', env: { A: '1', B: '2' } } }))
  hooks.register('b', 'pre_tool_call', () => ({ action: 'modify', args: { env: { B: '3' }, timeout: 5 } }))
  assert.deepEqual(await agentHooks.beforeToolCall(toolInfo, { command: 'ls', cwd: '/' }, []), {
    kind: 'run',
    args: { command: 'ls', cwd: '/a', env: { B: '3' }, timeout: 5 },
  })
})

test('an approval contains the changed arguments, and a default message and rule if it has none', async () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  const approval = hooks.register('guard', 'pre_tool_call', () => ({ action: 'approve' }))
  hooks.register('b', 'pre_tool_call', () => ({ action: 'modify', args: { command: 'pwd' } }))
  const { message, ...directive } = asRecord(await agentHooks.beforeToolCall(toolInfo, { command: 'ls' }, []))
  assert.deepEqual(directive, { kind: 'approve', ruleKey: 'terminal', args: { command: 'pwd' } })
  assert.match(String(message), /\bguard\b.*\bterminal\b/)
  approval.remove()
  hooks.register('c', 'pre_tool_call', () => ({ action: 'approve', message: 'Look first', rule_key: 'shell' }))
  hooks.register('d', 'pre_tool_call', () => ({ action: 'approve', message: 'Second' }))
  assert.deepEqual(await agentHooks.beforeToolCall(toolInfo, { command: 'ls' }, []), {
    kind: 'approve',
    message: 'Look first',
    ruleKey: 'shell',
    args: { command: 'pwd' },
  })
})

test('invalid results are ignored and logged once', async () => {
  const { hooks, agentHooks, warnings } = createTestAgentHooks()
  for (const [index, odd] of ['yes', 7, ['block'], { action: 'explode' }, { action: 'modify', args: [] }].entries())
    hooks.registerNamed(`p${index}`, 'pre_tool_call', () => odd)
  hooks.registerNamed('watcher', 'pre_tool_call', () => ({ noted: true }))
  for (let round = 0; round < 3; round += 1)
    assert.deepEqual(await agentHooks.beforeToolCall(toolInfo, { a: 1 }, []), { kind: 'run', args: { a: 1 } })
  assert.equal(warnings().length, 5)
  assert.deepEqual(warnings()[0], ['plugin.invalid_result', 'p0', 'pre_tool_call'])
})

test('a tool check receives the trace of rewritten arguments, and its failure blocks if it fails closed', async () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  let seen: unknown
  hooks.register(
    'a',
    'pre_tool_call',
    (payload) => {
      seen = { ...payload }
      throw new Error('broken')
    },
    { fails: 'closed' },
  )
  const directive = await agentHooks.beforeToolCall(toolInfo, { command: 'ls' }, [{ source: 'demo' }])
  assert.ok(directive.kind === 'block')
  assert.match(directive.message, /\bplugin a\b/)
  assert.deepEqual(seen, {
    tool_name: 'terminal',
    args: { command: 'ls' },
    task_id: 's1',
    session_id: 's1',
    tool_call_id: 'c1',
    turn_id: 't1',
    api_request_id: 'r1',
    role: 'owner',
    middleware_trace: [{ source: 'demo' }],
    ...envelope,
  })
})

// — after a tool

test('all observers are notified of the result of a tool as text, and the agent does not wait for them', async () => {
  const { hooks, agentHooks, drained } = createTestAgentHooks()
  const got: object[] = []
  hooks.register('a', 'post_tool_call', (payload) => void got.push({ ...payload }))
  await agentHooks.afterToolCall(toolInfo, { command: 'ls' }, [], {
    result: '{"error":"no"}',
    status: 'error',
    errorType: 'Error',
    errorMessage: 'no',
    durationMs: 3,
  })
  await drained()
  assert.deepEqual(got, [
    {
      tool_name: 'terminal',
      args: { command: 'ls' },
      task_id: 's1',
      session_id: 's1',
      tool_call_id: 'c1',
      turn_id: 't1',
      api_request_id: 'r1',
      role: 'owner',
      result: '{"error":"no"}',
      status: 'error',
      error_type: 'Error',
      error_message: 'no',
      duration_ms: 3,
      middleware_trace: [],
      ...envelope,
    },
  ])
})

test('the first text replaces a tool result, even if it is empty; other values are ignored', async () => {
  const { hooks, agentHooks, warnings } = createTestAgentHooks()
  hooks.registerNamed('a', 'transform_tool_result', () => ({ result: 'x' }))
  hooks.register('b', 'transform_tool_result', () => '')
  hooks.register('c', 'transform_tool_result', () => 'third')
  assert.equal(await agentHooks.transformToolResult(toolInfo, {}, toolResult), '')
  assert.deepEqual(warnings(), [['plugin.invalid_result', 'a', 'transform_tool_result']])
})

// — a turn

test('contexts are joined by blank lines in the order of the plugins’ folders, whatever the order of loading', async () => {
  const { hooks, agentHooks, warnings } = createTestAgentHooks()
  hooks.register('zebra', 'pre_llm_call', () => 'last')
  hooks.register('memory/honcho', 'pre_llm_call', () => ({ context: 'second' }))
  hooks.register('alpha', 'pre_llm_call', async () => 'first')
  hooks.register('beta', 'pre_llm_call', () => '')
  hooks.registerNamed('counter', 'pre_llm_call', () => ({ counted: 3 }))
  hooks.registerNamed('delta', 'pre_llm_call', () => 7)
  hooks.registerNamed('epsilon', 'pre_llm_call', () => ({ context: null }))
  assert.equal(await agentHooks.collectContext(turn, turnStart), 'first\n\nsecond\n\nlast')
  assert.deepEqual(warnings(), [['plugin.invalid_result', 'delta', 'pre_llm_call']])
})

test('before a turn plugins receive the message, the conversation and its user', async () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  let seen: unknown
  hooks.register('a', 'pre_llm_call', (payload) => {
    seen = { ...payload }
    return null
  })
  await agentHooks.collectContext(turn, turnStart)
  assert.deepEqual(seen, {
    ...turnPart,
    user_message: 'hello',
    conversation_history: [{ role: 'user', content: 'hello' }],
    is_first_turn: true,
    parent_session_id: '',
    sender_id: 'ada',
    role: 'owner',
    ...envelope,
  })
})

test('the first text that is not empty replaces the response', async () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  hooks.register('a', 'transform_llm_output', () => '')
  hooks.register('b', 'transform_llm_output', ({ response_text }) => response_text.toUpperCase())
  hooks.register('c', 'transform_llm_output', () => 'third')
  assert.equal(await agentHooks.transformOutput(turn, 'answer'), 'ANSWER')
})

test('the session starts before its first turn, observers run in order, and a slow one delays no reply', async () => {
  const { hooks, agentHooks, time } = createTestAgentHooks()
  const got: unknown[] = []
  const note = (name: string) => async (payload: object) => {
    await time.sleep(200)
    got.push([name, { ...payload }])
    return null
  }
  hooks.register('a', 'on_session_start', note('start'))
  hooks.register('a', 'pre_llm_call', note('pre'))
  hooks.register('a', 'post_llm_call', note('post'))
  hooks.register('a', 'on_session_end', note('end'))
  await agentHooks.onSessionStart(turn)
  const context = agentHooks.collectContext(turn, turnStart)
  await time.advance(400)
  await context
  await agentHooks.onTurnResponse(turn, { userMessage: 'hello', response: 'hi', history: () => [] })
  await agentHooks.onTurnEnd(turn, { completed: true, failed: false, interrupted: false, reason: 'stop' })
  assert.equal(got.length, 2)
  await time.advance(400)
  assert.deepEqual(
    got.map((one) => (Array.isArray(one) ? one[0] : undefined)),
    ['start', 'pre', 'post', 'end'],
  )
  assert.deepEqual(got[0], ['start', { session_id: 's1', model: 'small', platform: 'web', ...envelope }])
  assert.deepEqual(got.slice(2), [
    ['post', { ...turnPart, user_message: 'hello', assistant_response: 'hi', conversation_history: [], ...envelope }],
    [
      'end',
      {
        ...turnPart,
        completed: true,
        failed: false,
        interrupted: false,
        turn_exit_reason: 'stop',
        ...envelope,
      },
    ],
  ])
})

// — a model call

test('changes of a request are merged in order, and the original request is not modified', async () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  hooks.register('a', 'pre_api_request_mutable', () => ({ override: { temperature: 0, top_p: 0.1 } }))
  hooks.registerNamed('b', 'pre_api_request_mutable', () => ({ override: 'cold' }))
  hooks.register('c', 'pre_api_request_mutable', () => ({ override: { top_p: 0.9, model: 'large' } }))
  assert.deepEqual(await agentHooks.rewriteRequest(requestInfo, request), {
    ...request,
    temperature: 0,
    top_p: 0.9,
    model: 'large',
  })
  assert.equal(request.model, 'small')
})

test('no plugin can remove the model or the stream option from a request', async () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  hooks.register('a', 'pre_api_request_mutable', () => ({ override: { model: null, stream: false } }))
  assert.deepEqual(await agentHooks.rewriteRequest(requestInfo, request), request)
})

test('the first list of tools applies, to this call only', async () => {
  const { hooks, agentHooks, warnings } = createTestAgentHooks()
  const tools = [{ name: 'a' }, { name: 'b' }]
  hooks.register('silent', 'pre_tool_list_finalized', () => null)
  hooks.registerNamed('odd', 'pre_tool_list_finalized', () => ({ override: ['a'] }))
  hooks.register('few', 'pre_tool_list_finalized', ({ tools: all }) => ({ override: all.slice(1) }))
  hooks.register('none', 'pre_tool_list_finalized', () => ({ override: [] }))
  assert.deepEqual(await agentHooks.filterTools(turn, tools), [{ name: 'b' }])
  assert.equal(tools.length, 2)
  assert.deepEqual(warnings(), [['plugin.invalid_result', 'odd', 'pre_tool_list_finalized']])
})

test('the first plugin that reissues a model call determines the changed request', async () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  let seen: unknown
  hooks.register('silent', 'post_llm_call_can_reissue', (payload) => {
    seen = { ...payload }
    return null
  })
  hooks.register('router', 'post_llm_call_can_reissue', () => ({ override: { model: 'large' } }))
  hooks.register('late', 'post_llm_call_can_reissue', () => ({ override: { model: 'huge' } }))
  assert.deepEqual(await agentHooks.reissue(requestInfo, request, { id: 'x' }), { ...request, model: 'large' })
  assert.deepEqual(seen, {
    session_id: 's1',
    turn_id: 't1',
    iteration: 2,
    model: 'small',
    provider: 'openai',
    api_mode: 'chat_completions',
    request,
    response: { id: 'x' },
    platform: 'web',
    ...envelope,
  })
})

test('drafts are held back while a plugin may change the response', () => {
  const { hooks, agentHooks } = createTestAgentHooks()
  for (const name of ['transform_llm_output', 'post_llm_call_can_reissue'] as const) {
    const registration = hooks.register('a', name, () => null)
    assert.equal(agentHooks.outputMayChange(), true)
    registration.remove()
    assert.equal(agentHooks.outputMayChange(), false)
  }
})

test('request observers receive requests and results without keys in headers or query', async () => {
  const { hooks, agentHooks, drained } = createTestAgentHooks()
  const got: object[] = []
  for (const name of ['pre_api_request', 'post_api_request', 'api_request_error'] as const)
    hooks.registerNamed('a', name, (payload) => void got.push({ name, ...payload }))
  const trace = [{ source: 'demo' }]
  const secret: ModelRequest = {
    ...request,
    extra_headers: { 'X-Custom': 'sk-1', Accept: 'text/plain' },
    extra_query: { 'api-version': '1', 'api-key': 'sk-2' },
  }
  agentHooks.onRequestStart(requestInfo, secret, trace)
  agentHooks.onRequestEnd(requestInfo, request, trace, {
    response: { id: 'x' },
    usage: { total_tokens: 3 },
    finishReason: 'stop',
    durationMs: 12,
  })
  agentHooks.onRequestError(requestInfo, request, trace, {
    error: new TypeError('bad key sk-1'),
    statusCode: 429,
    retryable: true,
    reason: 'rate-limit',
    durationMs: 5,
  })
  assert.deepEqual(got, [])
  await drained()
  const common = {
    ...turnPart,
    api_request_id: 'r1',
    provider: 'openai',
    base_url: 'http://127.0.0.1',
    api_mode: 'chat_completions',
    api_call_count: 3,
    retry_count: 1,
    middleware_trace: trace,
    ...envelope,
  }
  assert.deepEqual(got, [
    {
      name: 'pre_api_request',
      ...common,
      request: {
        ...request,
        extra_headers: { 'X-Custom': '[redacted]', Accept: 'text/plain' },
        extra_query: { 'api-version': '1', 'api-key': '[redacted]' },
      },
    },
    {
      name: 'post_api_request',
      ...common,
      request,
      response: { id: 'x' },
      usage: { total_tokens: 3 },
      finish_reason: 'stop',
      duration_ms: 12,
    },
    {
      name: 'api_request_error',
      ...common,
      request,
      status_code: 429,
      retryable: true,
      reason: 'rate-limit',
      error: 'bad key [redacted]',
      error_type: 'TypeError',
      duration_ms: 5,
    },
  ])
})

test('stream deltas arrive in order, and reasoning only if it is configured', async () => {
  const { hooks, agentHooks, says, drained } = createTestAgentHooks()
  const got: unknown[] = []
  hooks.register('a', 'on_stream_start', ({ surface, iteration }) => void got.push(['start', surface, iteration]))
  hooks.register('a', 'on_stream_delta', ({ kind, delta }) => void got.push([kind, delta]))
  hooks.register(
    'a',
    'on_stream_end',
    (payload) => void got.push([payload.final_text, payload.finished, payload.error]),
  )
  const stream = (where: RequestInfo, error: string | null) => {
    agentHooks.onStreamStart(where)
    agentHooks.onStreamDelta(where, 'reasoning', 'hm')
    agentHooks.onStreamDelta(where, 'text', 'hi')
    agentHooks.onStreamEnd(where, 'hi', error)
  }
  stream(requestInfo, null)
  assert.deepEqual(got, [])
  await drained()
  says.streamReasoning = true
  stream({ ...requestInfo, turn: createTurnInfo({ platform: 'cli', route: '' }) }, 'cut off')
  await drained()
  assert.deepEqual(got, [
    ['start', 'gateway', 2],
    ['text', 'hi'],
    ['hi', true, null],
    ['start', 'cli', 2],
    ['reasoning', 'hm'],
    ['text', 'hi'],
    ['hi', false, 'cut off'],
  ])
})
