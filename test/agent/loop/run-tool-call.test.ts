import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AgentHooks, ToolDirective } from '../../../src/agent/agent-hooks.ts'
import type { Journal } from '../../../src/agent/loop/journal.ts'
import type { ToolApprovalRequest } from '../../../src/agent/loop/tool-approval.ts'
import { runToolBatch } from '../../../src/agent/loop/tool-batch.ts'
import type { JsonObject } from '../../../src/agent/models/provider.ts'
import { type Logger, silentLog } from '../../../src/lib/log.ts'
import type { ToolCall } from '../../../src/message/transcript.ts'
import { createMiddleware } from '../../../src/middleware/middleware.ts'
import { createRecordingLog } from '../../hosts/support.ts'
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

interface ToolSetting extends TestToolsOptions, Pick<TestAgentOptions, 'approve'> {
  readonly answers?: Partial<AgentHooks>
  readonly journal?: Journal
  readonly resumed?: boolean
  readonly taskId?: string
  readonly log?: Logger
}

/** A batch of one call, with plugins around it. */
function oneCall(of: ToolCall, tool: TestTool, setting: ToolSetting = {}) {
  const { answers, approve, journal, resumed = false, taskId = 's', log = silentLog, ...box } = setting
  const middleware = createMiddleware({ log: silentLog })
  const agentHooks = createRecordingHooks(answers)
  const stop = new AbortController()
  const listener = createRecordingListener()
  const memory = createInMemoryJournal()
  const started: string[] = []
  const base = journal ?? memory
  const watched: Journal = {
    ...base,
    recordToolStart(begun, mode) {
      started.push(`${mode} ${begun.arguments}`)
      return base.recordToolStart(begun, mode)
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
        tools: createTestTools({ look: tool }, box),
        middleware,
        agentHooks,
        journal: watched,
        listener,
        toolContextFor: (wanted) => testToolContext(wanted, stop.signal),
      },
      [of],
      stop.signal,
    ).then(([message]) => message?.content)
  return { run, middleware, points: agentHooks, stop, watcher: listener, started, journal: memory }
}

/** A tool that says with which arguments it ran. */
function echo() {
  const ran: string[] = []
  const tool: TestTool = async ({ arguments: text }) => {
    ran.push(text)
    return `"ran with ${text.replaceAll('"', "'")}"`
  }
  return { ran, tool }
}

test('policy, journal, tool and observers see the arguments as plugins have rewritten them', async () => {
  const { ran, tool } = echo()
  const asked: unknown[] = []
  const { run, middleware, points, started, watcher } = oneCall(call('a', 'look', { path: '/etc' }), tool, {
    answers: {
      beforeToolCall: async (_facts, args, trace) => {
        asked.push(args, trace)
        return { kind: 'run', args: { ...args, limit: 5 } }
      },
    },
  })
  middleware.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, path: '/tmp' }, source: 'sandbox' }))
  const result = await run()
  assert.deepEqual(asked, [{ path: '/tmp' }, [{ source: 'sandbox' }]])
  const effective = '{"path":"/tmp","limit":5}'
  assert.deepEqual(started, [`pure ${effective}`])
  assert.deepEqual(ran, [effective])
  assert.deepEqual(watcher.tools[0], `begin a label of ${effective}`)
  const [ending] = points.toolResults
  assert.deepEqual(ending?.args, { path: '/tmp', limit: 5 })
  assert.deepEqual(ending?.trace, [{ source: 'sandbox' }])
  assert.deepEqual([ending?.status, ending?.result], ['ok', result])
})

test('what a call does is judged by what it will do: arguments that turn into an effect are noted as one', async () => {
  const { tool } = echo()
  const { run, middleware, started } = oneCall(call('a', 'look'), tool)
  middleware.registerMiddleware('tool_request', () => ({ args: { effect: true } }))
  await run()
  assert.deepEqual(started, ['effect {"effect":true}'])
})

test('a wrapper that turns a harmless call into an effect has that noted before anything happens', async () => {
  const { ran, tool } = echo()
  const { run, middleware, started } = oneCall(call('a', 'look'), tool)
  middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call({ effect: true }))
  await run()
  assert.deepEqual(started, ['pure {}', 'effect {"effect":true}'])
  assert.deepEqual(ran, ['{"effect":true}'])
})

test('without plugins the journal has the very words of the model', async () => {
  const { tool } = echo()
  const { run, started } = oneCall({ id: 'a', name: 'look', arguments: '{ "path" : "x" }' }, tool)
  await run()
  assert.deepEqual(started, ['pure { "path" : "x" }'])
})

test('rewritten arguments that the tool does not take are refused, and the model is told who changed them', async () => {
  const { ran, tool } = echo()
  const byRewriter = oneCall(call('a', 'look'), tool)
  byRewriter.middleware.registerMiddleware('tool_request', () => ({ args: { wrong: 1 }, source: 'typo-plugin' }))
  assert.match((await byRewriter.run()) ?? '', /no argument wrong.*not as you sent them: typo-plugin had changed them/)
  const byHook = oneCall(call('a', 'look'), tool, {
    answers: { beforeToolCall: async () => ({ kind: 'run', args: { wrong: 1 } }) },
  })
  assert.match((await byHook.run()) ?? '', /a plugin \(pre_tool_call\) had changed them/)
  const byWrapper = oneCall(call('a', 'look'), tool)
  byWrapper.middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call({ wrong: 1 }))
  assert.match((await byWrapper.run()) ?? '', /a plugin that wraps the tool had changed them/)
  assert.deepEqual([byRewriter.started, byHook.started, ran], [[], [], []])
})

test('arguments that are wrong can be mended by a plugin before they are judged', async () => {
  const { ran, tool } = echo()
  const { run, middleware } = oneCall(call('a', 'look', { wrong: 1 }), tool)
  middleware.registerMiddleware('tool_request', () => ({ args: { path: 'x' } }))
  await run()
  assert.deepEqual(ran, ['{"path":"x"}'])
})

test('a blocked tool is an error for the model, with the reason; it never begins, and observers hear of it', async () => {
  const { ran, tool } = echo()
  const block: ToolDirective = { kind: 'block', message: 'not on Sundays' }
  const { run, points, started, watcher } = oneCall(call('a', 'look'), tool, {
    answers: { beforeToolCall: async () => block },
  })
  assert.equal(await run(), '{"error":"not on Sundays"}')
  assert.deepEqual([ran, started, watcher.tools], [[], [], ['failed a not on Sundays']])
  const [ending] = points.toolResults
  assert.deepEqual(
    [ending?.status, ending?.result, ending?.errorMessage],
    ['blocked', '{"error":"not on Sundays"}', 'not on Sundays'],
  )
})

test('a guardrail that refuses a tool is told to the model with its reason, and the turn goes on', async () => {
  const { ran, tool } = echo()
  const { run, middleware, points } = oneCall(call('a', 'look'), tool)
  middleware.registerGuardrail('cautious', 'tool', () => 'too dangerous')
  assert.equal(await run(), '{"error":"too dangerous"}')
  assert.deepEqual(ran, [])
  assert.deepEqual([points.toolResults[0]?.status, points.toolResults[0]?.errorType], ['blocked', 'guardrail_rejected'])
})

test('where a plugin wants a person to allow a tool, it waits for the word; no is told to the model', async () => {
  const wish: ToolDirective = { kind: 'approve', message: 'it costs money', ruleKey: 'buy', args: { path: 'shop' } }
  const answers = { beforeToolCall: async () => wish }
  const questions: ToolApprovalRequest[] = []
  const allowed = echo()
  const yes = oneCall(call('a', 'look'), allowed.tool, {
    answers,
    approve: async (question) => {
      questions.push(question)
      return 'allow'
    },
  })
  await yes.run()
  assert.deepEqual(allowed.ran, ['{"path":"shop"}'])
  const [question] = questions
  assert.deepEqual(
    [question?.message, question?.ruleKey, question?.args, question?.info.toolCallId],
    ['it costs money', 'buy', { path: 'shop' }, 'a'],
  )
  const denied = echo()
  const no = oneCall(call('a', 'look'), denied.tool, { answers, approve: async () => ({ deny: 'Ann says no' }) })
  assert.equal(await no.run(), '{"error":"Ann says no"}')
  const nobody = oneCall(call('a', 'look'), denied.tool, { answers })
  assert.match((await nobody.run()) ?? '', /allow look first \(it costs money\), and nobody can be asked here/)
  const alone = oneCall(call('a', 'look'), denied.tool, {
    answers,
    taskId: 'bg_1',
    approve: () => assert.fail('nobody watches a background task'),
  })
  assert.match((await alone.run()) ?? '', /nobody watches a background task/)
  assert.deepEqual([denied.ran, no.started, nobody.started, alone.started], [[], [], [], []])
})

test('a stop while a person is asked begins nothing, and leaves the call open for the next start', async () => {
  const { ran, tool } = echo()
  const asked = Promise.withResolvers<void>()
  const { run, stop, journal } = oneCall(call('a', 'look'), tool, {
    answers: { beforeToolCall: async (_facts, args) => ({ kind: 'approve', message: '', ruleKey: 'look', args }) },
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

test('a tool that an earlier life began is not run again, whatever is put around it, and nobody is asked about it', async () => {
  const { ran, tool } = echo()
  const touched: string[] = []
  const { run, middleware, points, started } = oneCall(call('a', 'look'), tool, {
    mode: 'effect',
    resumed: true,
    journal: createInMemoryJournal(['a']),
    answers: { transformToolResult: async () => '"all is well"' },
  })
  middleware.registerGuardrail('guard', 'tool', () => void touched.push('guardrail'))
  middleware.registerMiddleware('tool_request', () => void touched.push('rewrite'))
  middleware.registerMiddleware('tool_execution', ({ next_call }) => {
    touched.push('wrapper')
    return next_call()
  })
  assert.match((await run()) ?? '', /outcome unknown/)
  assert.deepEqual([ran, touched, started], [[], [], []])
  assert.deepEqual(points.events, ['after tool'])
})

test('also where only the journal knows that it was begun, no wrapper runs', async () => {
  const { ran, tool } = echo()
  const touched: string[] = []
  const journal = { ...createInMemoryJournal(['a']), wasStarted: async () => false }
  const { run, middleware } = oneCall(call('a', 'look'), tool, { mode: 'effect', journal })
  middleware.registerIntercept('retry', 'tool_execution', (_call, next) => {
    touched.push('wrapper')
    return next()
  })
  assert.match((await run()) ?? '', /outcome unknown/)
  assert.deepEqual([ran, touched], [[], []])
})

test('a journal that refuses ends the turn, also when a wrapper has swallowed the refusal', async () => {
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

test('a plugin may answer in place of a tool; whatever it returns is a text for the model, without secrets', async () => {
  const { ran, tool } = echo()
  for (const [returned, expected] of [
    [{ found: ['a secret'] }, '{"found":["a ***"]}'],
    [undefined, 'null'],
    ['a secret', 'a ***'],
  ] as const) {
    const { run, middleware, points } = oneCall(call('a', 'look'), tool)
    middleware.registerMiddleware('tool_execution', () => returned)
    assert.equal(await run(), expected)
    assert.equal(points.toolResults[0]?.result, expected)
  }
  const { run, middleware } = oneCall(call('a', 'look'), tool)
  middleware.registerMiddleware('tool_execution', () => 1n)
  assert.match((await run()) ?? '', /^\{"error":".*BigInt/)
  assert.deepEqual(ran, [])
})

test('a transformed result is what the model reads and the transcript keeps, and it brings no secret back', async () => {
  const { tool } = echo()
  const { run, journal, points } = oneCall(call('a', 'look'), tool, {
    answers: { transformToolResult: async () => 'shorter, with a secret' },
  })
  assert.equal(await run(), 'shorter, with a ***')
  assert.equal(journal.messages[0]?.content, 'shorter, with a ***')
  assert.equal(points.toolResults[0]?.result, `"ran with {}"`, 'observers get the result of the tool itself')
})

test('what a tool throws comes through wrappers as it is, and observers hear its name', async () => {
  class Jammed extends Error {
    override readonly name = 'Jammed'
  }
  const fault = new Jammed('stuck')
  const seen: unknown[] = []
  const { run, middleware, points } = oneCall(call('a', 'look'), async () => {
    throw fault
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
  assert.equal(seen[0], fault)
  assert.deepEqual([points.toolResults[0]?.status, points.toolResults[0]?.errorType], ['error', 'Jammed'])
})

test('callbacks get the arguments as an object, mended as the tool gets them', async () => {
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

test('a wrapper that does not notice a stop does not hide what the tool did', async (t) => {
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

test('a wrapper that spoils the result of a tool that has done its work tells the model so, or it would do it again', async () => {
  const circle: { itself?: unknown } = {}
  circle.itself = circle
  for (const spoil of [() => circle, () => 5n, () => Promise.reject(new Error('spoiled'))]) {
    for (const mode of ['effect', 'pure'] as const) {
      const { run, middleware } = oneCall(call('a', 'look'), async () => '"sent"', { mode })
      middleware.registerIntercept('spoiler', 'tool_execution', async (_call, next) => {
        await next()
        return spoil()
      })
      const result = (await run()) ?? ''
      assert.match(result, /^\{"error":"/)
      assert.equal(/after the tool itself had done its work/.test(result), mode === 'effect', result)
    }
  }
})

test('whatever a wrapper throws is an error that the model reads', async () => {
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
    middleware.registerSubscriber('watcher', () => undefined)
    middleware.registerIntercept('thrower', 'tool_execution', () => Promise.reject(error))
    assert.match((await run()) ?? '', /^\{"error":".+"\}$/)
  }
})

test('arguments that a wrapper changes in place are those the tool gets, checked and noted like any others', async () => {
  const { ran, tool } = echo()
  const judged: string[] = []
  const { run, middleware, started } = oneCall(call('a', 'look', { path: 'a' }), tool, {
    answers: {
      beforeToolCall: async (_facts, args) => {
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

test('the log says when a wrapper runs something else than what a person has allowed, and what it was it does not say', async () => {
  const { tool } = echo()
  const runWith = async (given: JsonObject) => {
    const log = createRecordingLog()
    const { run, middleware } = oneCall(call('a', 'look', { password: '[secret:1]' }), tool, {
      answers: { beforeToolCall: async (_facts, args) => ({ kind: 'approve', message: '', ruleKey: 'look', args }) },
      approve: async () => 'allow',
      log,
    })
    middleware.registerMiddleware('tool_execution', ({ next_call }) => next_call(given))
    await run()
    return JSON.stringify(log.records)
  }
  const changed = await runWith({ password: 'hunter2' })
  assert.match(changed, /has changed what a person had allowed/)
  assert.doesNotMatch(changed, /hunter2/)
  assert.doesNotMatch(await runWith({ password: '[secret:1]' }), /has changed/)
})
