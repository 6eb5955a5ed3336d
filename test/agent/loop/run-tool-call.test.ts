import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Journal } from '../../../src/agent/loop/journal.ts'
import type { ToolApprovalRequest } from '../../../src/agent/loop/tool-approval.ts'
import { runToolBatch } from '../../../src/agent/loop/tool-batch.ts'
import type { AgentHooks, ToolDirective } from '../../../src/agent/support/agent-hooks.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import { type Logger, silentLog } from '../../../src/lib/log.ts'
import type { ToolCall } from '../../../src/message/transcript.ts'
import { createMiddleware } from '../../../src/middleware/middleware.ts'
import { call } from '../../kit/scripted-provider.ts'
import {
  createInMemoryJournal,
  createRecordingListener,
  createTestTools,
  type TestTool,
  type TestToolsOptions,
  testToolContext,
} from '../in-memory-deps.ts'
import { createRecordingHooks } from '../recording-hooks.ts'
import { agentDeps, type TestAgentOptions, turnInfo } from '../run-test-agent.ts'

interface ToolOptions extends TestToolsOptions, Pick<TestAgentOptions, 'approve'> {
  readonly hooks?: Partial<AgentHooks>
  readonly journal?: Journal
  readonly resumed?: boolean
  readonly taskId?: string
  readonly log?: Logger
}

/** Runs a batch of one call, with middleware and hooks. */
function oneCall(of: ToolCall, tool: TestTool, options: ToolOptions = {}) {
  const { hooks, approve, journal, resumed = false, taskId = 's', log = silentLog, ...toolsOptions } = options
  const middleware = createMiddleware({ log: silentLog })
  const agentHooks = createRecordingHooks(hooks)
  const stop = new AbortController()
  const listener = createRecordingListener()
  const memory = createInMemoryJournal()
  const started: string[] = []
  const base = journal ?? memory
  const recordingJournal: Journal = {
    ...base,
    recordToolStart(startedCall, mode) {
      started.push(`${mode} ${startedCall.arguments}`)
      return base.recordToolStart(startedCall, mode)
    },
  }
  const run = () =>
    runToolBatch(
      {
        ...agentDeps(),
        log,
        ...(approve === undefined ? {} : { approve }),
        turn: { ...turnInfo, taskId },
        apiRequestId: 'request',
        resumed,
        tools: createTestTools({ look: tool }, toolsOptions),
        middleware,
        agentHooks,
        journal: recordingJournal,
        listener,
        toolContextFor: (toolCall) => testToolContext(toolCall, stop.signal),
      },
      [of],
      stop.signal,
      () => () => undefined,
    ).then(([message]) => message?.content)
  return { run, middleware, agentHooks, stop, listener, started, journal: memory }
}

/** A tool that records and returns its arguments. */
function echo() {
  const ran: string[] = []
  const tool: TestTool = async ({ arguments: text }) => {
    ran.push(text)
    return `"ran with ${text.replaceAll('"', "'")}"`
  }
  return { ran, tool }
}

test('policy, journal, tool and observers get the arguments that plugins have rewritten', async () => {
  const { ran, tool } = echo()
  const seen: unknown[] = []
  const { run, middleware, agentHooks, started, listener } = oneCall(call('a', 'look', { path: '/etc' }), tool, {
    hooks: {
      beforeToolCall: async (_info, args, trace) => {
        seen.push(args, trace)
        return { kind: 'run', args: { ...args, limit: 5 } }
      },
    },
  })
  middleware.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, path: '/tmp' }, source: 'sandbox' }))
  const result = await run()
  assert.deepEqual(seen, [{ path: '/tmp' }, [{ source: 'sandbox' }]])
  const effective = '{"path":"/tmp","limit":5}'
  assert.deepEqual(started, [`pure ${effective}`])
  assert.deepEqual(ran, [effective])
  assert.deepEqual(listener.tools[0], `begin a label of ${effective}`)
  const [observed] = agentHooks.toolResults
  assert.deepEqual(observed?.args, { path: '/tmp', limit: 5 })
  assert.deepEqual(observed?.trace, [{ source: 'sandbox' }])
  assert.deepEqual([observed?.status, observed?.result], ['ok', result])
})

test('a call whose rewritten arguments have an effect is recorded as an effect', async () => {
  const { tool } = echo()
  const { run, middleware, started } = oneCall(call('a', 'look'), tool)
  middleware.registerMiddleware('tool_request', () => ({ args: { effect: true } }))
  await run()
  assert.deepEqual(started, ['effect {"effect":true}'])
})

test('middleware that adds an effect to a call has the effect recorded before the tool runs', async () => {
  const { ran, tool } = echo()
  const { run, middleware, started } = oneCall(call('a', 'look'), tool)
  middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call({ effect: true }))
  await run()
  assert.deepEqual(started, ['pure {}', 'effect {"effect":true}'])
  assert.deepEqual(ran, ['{"effect":true}'])
})

test('without plugins the journal records the arguments exactly as the model wrote them', async () => {
  const { tool } = echo()
  const { run, started } = oneCall({ id: 'a', name: 'look', arguments: '{ "path" : "x" }' }, tool)
  await run()
  assert.deepEqual(started, ['pure { "path" : "x" }'])
})

test('invalid rewritten arguments are rejected, and the model reads which plugin changed them', async () => {
  const { ran, tool } = echo()
  const byRewriter = oneCall(call('a', 'look'), tool)
  byRewriter.middleware.registerMiddleware('tool_request', () => ({ args: { wrong: 1 }, source: 'typo-plugin' }))
  assert.match((await byRewriter.run()) ?? '', /\bwrong\b.*typo-plugin/)
  const byHook = oneCall(call('a', 'look'), tool, {
    hooks: { beforeToolCall: async () => ({ kind: 'run', args: { wrong: 1 } }) },
  })
  assert.match((await byHook.run()) ?? '', /\bwrong\b.*pre_tool_call/)
  const byWrapper = oneCall(call('a', 'look'), tool)
  byWrapper.middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call({ wrong: 1 }))
  assert.match((await byWrapper.run()) ?? '', /\bwrong\b.*tool_execution/)
  for (const { agentHooks } of [byRewriter, byHook, byWrapper])
    assert.equal(agentHooks.toolResults[0]?.errorType, 'invalid_arguments')
  assert.deepEqual([byRewriter.started, byHook.started, ran], [[], [], []])
})

test('a plugin can repair invalid arguments before they are checked', async () => {
  const { ran, tool } = echo()
  const { run, middleware } = oneCall(call('a', 'look', { wrong: 1 }), tool)
  middleware.registerMiddleware('tool_request', () => ({ args: { path: 'x' } }))
  await run()
  assert.deepEqual(ran, ['{"path":"x"}'])
})

test('a blocked call gives an error with the reason, is never started, and is observed', async () => {
  const { ran, tool } = echo()
  const block: ToolDirective = { kind: 'block', message: 'not on Sundays' }
  const { run, agentHooks, started, listener } = oneCall(call('a', 'look'), tool, {
    hooks: { beforeToolCall: async () => block },
  })
  assert.equal(await run(), '{"error":"not on Sundays"}')
  assert.deepEqual([ran, started, listener.tools], [[], [], ['failed a not on Sundays']])
  const [observed] = agentHooks.toolResults
  assert.deepEqual(
    [observed?.status, observed?.result, observed?.errorMessage],
    ['blocked', '{"error":"not on Sundays"}', 'not on Sundays'],
  )
})

test('the model reads the reason when a guardrail rejects a tool, and the turn continues', async () => {
  const { ran, tool } = echo()
  const { run, middleware, agentHooks } = oneCall(call('a', 'look'), tool)
  middleware.registerGuardrail('cautious', 'tool', () => 'too dangerous')
  assert.equal(await run(), '{"error":"too dangerous"}')
  assert.deepEqual(ran, [])
  assert.deepEqual(
    [agentHooks.toolResults[0]?.status, agentHooks.toolResults[0]?.errorType],
    ['blocked', 'guardrail_rejected'],
  )
})

test('a call that needs approval waits for the decision, and the model reads a denial', async () => {
  const directive: ToolDirective = {
    kind: 'approve',
    message: 'it costs money',
    ruleKey: 'buy',
    args: { path: 'shop' },
  }
  const hooks = { beforeToolCall: async () => directive }
  const questions: ToolApprovalRequest[] = []
  const allowed = echo()
  const yes = oneCall(call('a', 'look'), allowed.tool, {
    hooks,
    approve: async (question) => {
      questions.push(question)
      return 'allow'
    },
  })
  await yes.run()
  assert.deepEqual(allowed.ran, ['{"path":"shop"}'])
  const [question] = questions
  assert.deepEqual(
    [question?.needs[0]?.reason, question?.needs[0]?.ruleKey, question?.args, question?.info.toolCallId],
    ['it costs money', 'buy', { path: 'shop' }, 'a'],
  )
  const denied = echo()
  const no = oneCall(call('a', 'look'), denied.tool, { hooks, approve: async () => ({ deny: 'Ann says no' }) })
  assert.equal(await no.run(), '{"error":"Ann says no"}')
  const denying = oneCall(call('a', 'look'), denied.tool, { hooks })
  assert.match((await denying.run()) ?? '', /look.*it costs money/)
  for (const { agentHooks } of [no, denying]) assert.equal(agentHooks.toolResults[0]?.errorType, 'not_approved')
  assert.deepEqual([denied.ran, no.started, denying.started], [[], [], []])
})

test('an abort during an approval starts no tool, and the call stays open for a resume', async () => {
  const { ran, tool } = echo()
  const asked = Promise.withResolvers<void>()
  const { run, stop, journal } = oneCall(call('a', 'look'), tool, {
    hooks: { beforeToolCall: async (_info, args) => ({ kind: 'approve', message: '', ruleKey: 'look', args }) },
    approve: (_question, signal) => {
      asked.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    },
  })
  const result = run()
  await asked.promise
  const reason = new Error('stop')
  stop.abort(reason)
  await assert.rejects(result, (error) => error === reason)
  assert.deepEqual([ran, journal.events], [[], []])
})

test('a call that was started before a restart does not run again, and neither plugins nor users are asked', async () => {
  const { ran, tool } = echo()
  const touched: string[] = []
  const { run, middleware, agentHooks, started } = oneCall(call('a', 'look'), tool, {
    mode: 'effect',
    resumed: true,
    journal: createInMemoryJournal(['a']),
    hooks: { transformToolResult: async () => '"all is well"' },
  })
  middleware.registerGuardrail('guard', 'tool', () => void touched.push('guardrail'))
  middleware.registerMiddleware('tool_request', () => void touched.push('rewrite'))
  middleware.registerMiddleware('tool_execution', ({ next_call }) => {
    touched.push('wrapper')
    return next_call()
  })
  const result = await run()
  assert.deepEqual([ran, touched, started], [[], [], []])
  assert.deepEqual(agentHooks.events, ['after tool'])
  assert.deepEqual(
    agentHooks.toolResults.map(({ errorType, result: observed }) => [errorType, observed]),
    [['interrupted', result]],
  )
})

test('no execution middleware runs when only the start in the journal shows an earlier start', async () => {
  const { ran, tool } = echo()
  const touched: string[] = []
  const journal = { ...createInMemoryJournal(['a']), wasStarted: async () => false }
  const { run, middleware, agentHooks } = oneCall(call('a', 'look'), tool, { mode: 'effect', journal })
  middleware.registerIntercept('retry', 'tool_execution', (_call, next) => {
    touched.push('wrapper')
    return next()
  })
  await run()
  assert.equal(agentHooks.toolResults[0]?.errorType, 'interrupted')
  assert.deepEqual([ran, touched], [[], []])
})

test('a rejection of the journal ends the turn, also when middleware handles the error', async () => {
  const { ran, tool } = echo()
  const refusal = new Error('overtaken')
  const journal: Journal = {
    ...createInMemoryJournal(),
    recordToolStart: async (_call, mode) => {
      if (mode === 'effect') throw refusal
      return 'run'
    },
  }
  const { run, middleware } = oneCall(call('a', 'look'), tool, { journal })
  middleware.registerMiddleware('tool_execution', async ({ next_call }) => {
    await Promise.resolve(next_call({ effect: true })).catch(() => undefined)
    return 'never mind'
  })
  await assert.rejects(run(), (error) => error === refusal)
  assert.deepEqual(ran, [])
})

test('a plugin may return a result instead of the tool; the model gets it as redacted text', async () => {
  const { ran, tool } = echo()
  for (const [returned, expected] of [
    [{ found: ['a secret'] }, '{"found":["a ***"]}'],
    [undefined, 'null'],
    ['a secret', 'a ***'],
  ] as const) {
    const { run, middleware, agentHooks } = oneCall(call('a', 'look'), tool)
    middleware.registerMiddleware('tool_execution', () => returned)
    assert.equal(await run(), expected)
    assert.equal(agentHooks.toolResults[0]?.result, expected)
  }
  const { run, middleware } = oneCall(call('a', 'look'), tool)
  middleware.registerMiddleware('tool_execution', () => 1n)
  assert.match((await run()) ?? '', /^\{"error":".*BigInt/)
  assert.deepEqual(ran, [])
})

test('the model and the transcript get the transformed result, redacted', async () => {
  const { tool } = echo()
  const { run, journal, agentHooks } = oneCall(call('a', 'look'), tool, {
    hooks: { transformToolResult: async () => 'shorter, with a secret' },
  })
  assert.equal(await run(), 'shorter, with a ***')
  assert.equal(journal.messages[0]?.content, 'shorter, with a ***')
  assert.equal(agentHooks.toolResults[0]?.result, `"ran with {}"`, 'observers get the result of the tool itself')
})

test('middleware gets the error of a tool unchanged, and observers get its name', async () => {
  class Jammed extends Error {
    override readonly name = 'Jammed'
  }
  const failure = new Jammed('stuck')
  const seen: unknown[] = []
  const { run, middleware, agentHooks } = oneCall(call('a', 'look'), async () => {
    throw failure
  })
  middleware.registerIntercept('watch', 'tool_execution', async (_call, next) => {
    try {
      return await next()
    } catch (error) {
      seen.push(error)
      throw error
    }
  })
  assert.equal(await run(), '{"error":"stuck"}')
  assert.equal(seen[0], failure)
  assert.deepEqual([agentHooks.toolResults[0]?.status, agentHooks.toolResults[0]?.errorType], ['error', 'Jammed'])
})

test('callbacks get the arguments as an object, repaired as for the tool', async () => {
  const { tool } = echo()
  const seen: unknown[] = []
  const { run, middleware } = oneCall({ id: 'a', name: 'look', arguments: '"{\\"path\\":\\"x\\"}"' }, tool)
  middleware.registerGuardrail('watch', 'tool', ({ args, toolName, toolCallId, fields }) => {
    seen.push(args, toolName, toolCallId, fields['api_request_id'], fields['session_id'])
    return null
  })
  await run()
  assert.deepEqual(seen, [{ path: 'x' }, 'look', 'a', 'request', 's'])
})

test('middleware that ignores an abort does not hide the result of the tool', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { tool } = echo()
  const { run, middleware, stop, journal } = oneCall(call('a', 'look'), tool, { mode: 'effect' })
  const done = Promise.withResolvers<void>()
  middleware.registerMiddleware('tool_execution', async ({ next_call }) => {
    await next_call()
    done.resolve()
    return new Promise(() => undefined)
  })
  const reason = new Error('stop')
  const ended = assert.rejects(run(), (error) => error === reason)
  await done.promise
  stop.abort(reason)
  await nextTurn()
  t.mock.timers.tick(5_000)
  await ended
  await nextTurn()
  assert.deepEqual(
    journal.messages.map(({ content }) => content),
    ['"ran with {}"'],
  )
})

test('when middleware fails after the effect of a tool, the model reads that it must not simply repeat the call', async () => {
  const circle: { itself?: unknown } = {}
  circle.itself = circle
  for (const spoil of [() => circle, () => 5n, () => Promise.reject(new Error('spoiled'))]) {
    const results: string[] = []
    for (const mode of ['effect', 'pure'] as const) {
      const { run, middleware } = oneCall(call('a', 'look'), async () => '"sent"', { mode })
      middleware.registerIntercept('spoiler', 'tool_execution', async (_call, next) => {
        await next()
        return spoil()
      })
      const result = (await run()) ?? ''
      const { error }: { error: string } = JSON.parse(result)
      results.push(error)
    }
    const [afterEffect = '', afterPure = ''] = results
    assert.ok(afterPure !== '' && afterEffect.startsWith(`${afterPure} `), 'a notice follows the same error')
  }
})

test('any value that middleware throws becomes an error result', async () => {
  const thrown: unknown[] = [
    null,
    undefined,
    'words',
    Object.freeze(new Error('frozen')),
    Object.assign(new Error('x'), { message: { code: 5 } }),
    Object.defineProperty(new Error('x'), 'message', { get: () => assert.fail('trapped') }),
    Object.defineProperty(new Error('x'), 'name', { value: 5 }),
    Object.assign(Object.create(Error.prototype), { constructor: null }),
  ]
  for (const error of thrown) {
    const { run, middleware } = oneCall(call('a', 'look'), async () => '"sent"')
    middleware.registerSubscriber('subscriber', () => undefined)
    middleware.registerIntercept('thrower', 'tool_execution', () => Promise.reject(error))
    assert.match((await run()) ?? '', /^\{"error":".+"\}$/)
  }
})

test('arguments that middleware modifies in place are checked and recorded', async () => {
  const { ran, tool } = echo()
  const judged: string[] = []
  const { run, middleware, started } = oneCall(call('a', 'look', { path: 'a' }), tool, {
    hooks: {
      beforeToolCall: async (_info, args) => {
        judged.push(JSON.stringify(args))
        return { kind: 'run', args }
      },
    },
  })
  middleware.registerMiddleware('tool_execution', ({ args, next_call }) => {
    Reflect.set(args, 'effect', true)
    return next_call(args)
  })
  await run()
  assert.deepEqual(
    [ran, judged, started],
    [['{"path":"a","effect":true}'], ['{"path":"a"}'], ['pure {"path":"a"}', 'effect {"path":"a","effect":true}']],
  )
})

test('arguments that middleware changes after the approval are asked about again before the tool runs', async () => {
  const runWith = async (args: JsonObject, mayChange: boolean) => {
    const asked: JsonObject[] = []
    const { ran, tool } = echo()
    const { run, middleware } = oneCall(call('a', 'look', { path: 'a' }), tool, {
      hooks: {
        beforeToolCall: async (_info, given) => ({ kind: 'approve', message: '', ruleKey: 'look', args: given }),
      },
      async approve({ args: shown }) {
        asked.push(shown)
        return asked.length === 1 || mayChange ? 'allow' : { deny: 'no' }
      },
    })
    middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call(args))
    await run()
    return { asked, ran }
  }
  assert.deepEqual(await runWith({ path: 'b' }, true), { asked: [{ path: 'a' }, { path: 'b' }], ran: ['{"path":"b"}'] })
  assert.deepEqual(await runWith({ path: 'b' }, false), { asked: [{ path: 'a' }, { path: 'b' }], ran: [] })
  assert.deepEqual(await runWith({ path: 'a' }, false), { asked: [{ path: 'a' }], ran: ['{"path":"a"}'] })
})
