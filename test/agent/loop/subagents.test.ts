/**
 * Sub-agents: the same agent handles a part of a task with a new conversation, fewer tools and its own iteration limit.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateTextTokens, estimateTokens } from '../../../src/agent/compression/context-size.ts'
import type { ToolApprovalRequest } from '../../../src/agent/loop/tool-approval.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { ManagedEvent } from '../../../src/middleware/contract.ts'
import { createMiddleware } from '../../../src/middleware/middleware.ts'
import { call, type ScriptedProvider, usagePerCall } from '../../kit/scripted-provider.ts'
import { settingsWith } from '../in-memory-deps.ts'
import { question, turnInfo } from '../run-test-agent.ts'
import { asks, bound, delegating } from './delegating.ts'

test('a sub-agent gets only its goal and context, and returns only its summary', async () => {
  const { result, provider, journal, reports, turns } = delegating(
    [
      asks(call('d', 'delegate_task', { goal: 'count the files', context: 'in /tmp' })),
      asks(call('x', 'look')),
      { chunks: ['There are ', 'three.'] },
      { chunks: ['Three files.'] },
    ],
    { look: async () => 'a b c' },
  )
  const { text, usage, messages } = { messages: journal.messages, ...(await result) }
  assert.equal(text, 'Three files.')
  const child = provider.requests[1]
  assert.deepEqual(child?.messages, [{ role: 'user', content: 'count the files\n\nin /tmp' }])
  assert.notEqual(child?.system, 'be kind')
  assert.deepEqual(
    child?.tools.map(({ name }) => name),
    ['look'],
    'it has neither delegation nor memory',
  )
  assert.deepEqual(reports(), { results: [{ task: 0, status: 'completed', summary: 'There are three.' }] })
  assert.ok(!JSON.stringify(messages).includes('a b c'))
  assert.equal(usage.inputTokens, 3 * usagePerCall.inputTokens, 'its usage counts for the parent turn')
  const [own, of] = turns
  assert.deepEqual([own?.parentSessionId, of?.parentSessionId], ['', 's'])
  assert.ok(of !== undefined && of.sessionId !== 's' && of.taskId === of.sessionId && of.turnId !== 't')
})

test('sub-agents run in parallel; their results have the order of the tasks, whichever completes first', async () => {
  const slow = Promise.withResolvers<string>()
  const branches: number[] = []
  const { result, reports, received } = delegating(
    [
      asks(call('d', 'delegate_task', { tasks: [{ goal: 'slow' }, { goal: 'quick', context: 'c' }] })),
      asks(call('x', 'wait')),
      { chunks: ['quick is done'] },
      { chunks: ['slow is done'] },
      { chunks: ['ok'] },
    ],
    { wait: () => slow.promise },
    { hooks: { onSubagentStop: () => slow.resolve('now') }, onFork: (count) => branches.push(count) },
  )
  await result
  assert.deepEqual(branches, [2, -1, -1])
  assert.deepEqual(reports().results, [
    { task: 0, status: 'completed', summary: 'slow is done' },
    { task: 1, status: 'completed', summary: 'quick is done' },
  ])
  assert.deepEqual(
    received.map(({ child }) => [child.subagentId, child.role, child.goal]),
    [
      ['d.0', 'leaf', 'slow'],
      ['d.1', 'leaf', 'quick'],
    ],
  )
})

test('plugins observe the start and the end of a sub-agent through its parent turn', async () => {
  const { result, received } = delegating(
    [
      asks(call('d', 'delegate_task', { goal: 'look around' })),
      asks(call('x', 'look', { path: '/' })),
      { chunks: ['seen'] },
      { chunks: ['ok'] },
    ],
    { look: async () => 'nothing' },
  )
  await result
  const [start, stop] = received
  assert.deepEqual([start?.parent.sessionId, start?.parent.turnId], ['s', 't'])
  assert.equal(start?.child.sessionId, stop?.child.sessionId)
  assert.deepEqual(
    [stop?.ending?.status, stop?.ending?.summary, stop?.ending?.toolCalls],
    ['completed', 'seen', [{ name: 'look', arguments: '{"path":"/"}', ok: true }]],
  )
})

test('too many tasks, no task or an empty goal is a tool error, and no sub-agent is started', async () => {
  const tasks = (count: number) => Array.from({ length: count }, () => ({ goal: 'x' }))
  for (const [args, code] of [
    [{ tasks: tasks(4) }, 'too_many_tasks'],
    [{ tasks: [] }, 'no_goal'],
    [{}, 'no_goal'],
    [{ goal: 'x', tasks: tasks(1) }, 'goal_and_tasks'],
    [{ tasks: [{ goal: 'x' }, { goal: ' ' }] }, 'empty_goal'],
  ] as const) {
    const { result, reports, received } = delegating([asks(call('d', 'delegate_task', args)), { chunks: ['sorry'] }])
    await result
    assert.equal(reports().code, code)
    assert.deepEqual(received, [])
  }
})

test('a failed sub-agent reports its error, and the others continue', async () => {
  const { result, reports, received } = delegating([
    asks(call('d', 'delegate_task', { tasks: [{ goal: 'a' }, { goal: 'b' }] })),
    new Error('the line is dead'),
    { chunks: ['b is done'] },
    { chunks: ['ok'] },
  ])
  await result
  assert.deepEqual(
    reports().results.map(({ status }: { status: string }) => status),
    ['error', 'completed'],
  )
  assert.match(reports().results[0].summary, /the line is dead/)
  assert.deepEqual(received.filter(({ ending }) => ending !== undefined).length, 2)
})

test('a sub-agent has its own iteration limit, and has failed when it reaches the limit', async () => {
  const { result, reports } = delegating(
    [
      asks(call('d', 'delegate_task', { goal: 'for ever' })),
      ...Array.from({ length: 50 }, (_, at) => asks(call(`x${at}`, 'look', { at }))),
      { chunks: ['half of it'] },
      { chunks: ['ok'] },
    ],
    { look: async () => 'again' },
  )
  await result
  assert.deepEqual(reports().results, [{ task: 0, status: 'failed', summary: 'half of it' }])
})

test('a sub-agent cannot call tools that it does not have', async () => {
  const { result, provider } = delegating([
    asks(call('d', 'delegate_task', { goal: 'go deeper' })),
    asks(call('x', 'delegate_task', { goal: 'deeper still' }), call('y', 'memory')),
    { chunks: ['cannot'] },
    { chunks: ['ok'] },
  ])
  await result
  const results = provider.requests[2]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  assert.match(results?.[0] ?? '', /^\{"error":".*\bdelegate_task\b/)
  assert.match(results?.[1] ?? '', /^\{"error":".*\bmemory\b/)
})

test('an abort of the turn interrupts its sub-agents, and plugins observe it', async () => {
  const { result, stop, provider, received, listener } = delegating([
    asks(call('d', 'delegate_task', { goal: 'for ever' })),
    { chunks: ['I be'], hang: true },
  ])
  await provider.hanging
  const reason = new Error('stopped')
  stop.abort(reason)
  await assert.rejects(result, reason)
  assert.equal(received.at(-1)?.ending?.status, 'interrupted')
  assert.ok(!listener.texts.includes('I be'), 'the text of a sub-agent is not shown')
})

test('the progress of a turn shows the tools of its sub-agents', async () => {
  const { result, listener } = delegating(
    [
      asks(call('d', 'delegate_task', { goal: 'look\naround' })),
      asks(call('x', 'look')),
      { chunks: ['seen'] },
      { chunks: ['ok'] },
    ],
    { look: async () => 'nothing' },
  )
  await result
  assert.deepEqual(listener.tools.slice(1, 3), ['begin d.0.x label of {}', 'ok d.0.x nothing'])
  const parsed = bound.parse({ tasks: [{ goal: 'look\naround' }, { goal: 'x'.repeat(100) }] })
  assert.ok(parsed.ok)
  assert.equal(parsed.call.label, `look\naround · ${'x'.repeat(100)}`)
  assert.equal(parsed.call.mode, 'effect', 'after a crash its outcome is unknown')
})

test('the scope of a sub-agent is a child of the tool call that started it', async () => {
  const middleware = createMiddleware({ log: silentLog })
  const events: ManagedEvent[] = []
  middleware.registerSubscriber('look', (event) => void events.push(event))
  const { result } = delegating(
    [
      asks(call('d', 'delegate_task', { tasks: [{ goal: 'a' }, { goal: 'b' }] })),
      { chunks: ['a'] },
      { chunks: ['b'] },
      { chunks: ['ok'] },
    ],
    {},
    { middleware },
  )
  await result
  await middleware.flush()
  const starts = events.filter((event) => event.scope_category === 'start')
  const tool = starts.find(({ name }) => name === 'delegate_task')
  const children = starts.filter(({ name }) => name === 'subagent')
  assert.deepEqual(
    children.map((child) => child.parent_uuid),
    [tool?.uuid, tool?.uuid],
  )
  const models = starts.filter(({ category }) => category === 'llm')
  assert.equal(models.length, 4)
})

test('approvals for the tools of a sub-agent are requested in the conversation of its parent turn', async () => {
  const asked: ToolApprovalRequest[] = []
  const { result } = delegating(
    [asks(call('d', 'delegate_task', { goal: 'a' })), asks(call('x', 'look')), { chunks: ['a'] }, { chunks: ['ok'] }],
    { look: async () => 'seen' },
    {
      approve: async (request) => {
        asked.push(request)
        return 'allow'
      },
      hooks: {
        beforeToolCall: async ({ toolName }, args) =>
          toolName === 'look' ? { kind: 'approve', message: '', ruleKey: 'look', args } : { kind: 'run', args },
      },
    },
  )
  await result
  assert.deepEqual(
    asked.map(({ info: of }) => [of.turn, of.toolCallId]),
    [[turnInfo, 'd.0.x']],
  )
})

/** The requests of sub-agents and of their summaries, in tokens as they are estimated. */
function sizesOf({ requests }: ScriptedProvider): number[] {
  const own = requests.filter(({ messages }) => messages[0]?.content !== question.content)
  return own.map(({ messages, system }) => estimateTokens(messages) + estimateTextTokens(system))
}

const delegation = settingsWith().delegation

test('a sub-agent that reads 90 results of 50 kB stays within the window of the model', async () => {
  const { result, reports, provider } = delegating(
    [
      asks(call('d', 'delegate_task', { goal: 'read it all' })),
      ...Array.from({ length: 90 }, (_, at) => asks(call('call_0', 'look', { at }))),
      { chunks: ['read it'] },
      { chunks: ['ok'] },
    ],
    { look: async () => 'x'.repeat(50_000) },
    { maxIterations: 91, settings: { delegation: { ...delegation, max_iterations: 91 } } },
  )
  await result
  assert.deepEqual(reports().results, [{ task: 0, status: 'completed', summary: 'read it' }])
  const sizes = sizesOf(provider)
  assert.equal(sizes.length, 91)
  const { context_length: window } = settingsWith()
  assert.ok(Math.max(...sizes) <= window, `${Math.max(...sizes)}`)
  assert.ok(Math.max(...sizes) >= window / 3, 'the newest results are kept')
})

test('a sub-agent whose summaries cannot be used goes on without its oldest calls', async () => {
  const { result, reports, provider } = delegating(
    [
      asks(call('d', 'delegate_task', { goal: 'write long notes' })),
      // A request for a summary has no answer in a call.
      ...Array.from({ length: 12 }, (_, at) => asks(call(`x${at}`, 'look', { note: `${at}${'y'.repeat(20_000)}` }))),
      { chunks: ['written'] },
      { chunks: ['ok'] },
    ],
    { look: async () => 'noted' },
    { maxIterations: 30, settings: { context_length: 32_000, delegation: { ...delegation, max_iterations: 30 } } },
  )
  await result
  assert.equal(reports().results[0].summary, 'written')
  const sizes = sizesOf(provider)
  assert.ok(Math.max(...sizes) <= 32_000, `${Math.max(...sizes)}`)
  const texts = provider.requests.flatMap(({ messages }) => messages.map(({ content }) => content))
  assert.ok(texts.some((text) => /\d+ older messages are left out here/.test(text)))
})

test('long calls of a sub-agent are summarised, its task is kept, and the summary is paid for by its turn', async () => {
  const step = (at: number) => ({
    chunks: ['a record'],
    calls: [call(`x${at}`, 'look', { note: `${at}${'y'.repeat(20_000)}` })],
  })
  const { result, provider } = delegating(
    [
      asks(call('d', 'delegate_task', { goal: 'write long notes' })),
      // Thirteen requests of the sub-agent and three for summaries.
      ...Array.from({ length: 16 }, (_, at) => step(at)),
      { chunks: ['ok'] },
    ],
    { look: async () => 'noted' },
    { maxIterations: 12, settings: { context_length: 32_000, delegation: { ...delegation, max_iterations: 12 } } },
  )
  const { usage } = await result
  const sizes = sizesOf(provider)
  assert.ok(Math.max(...sizes) <= 32_000, `${Math.max(...sizes)}`)
  const own = provider.requests.filter(({ messages }) => messages[0]?.content === 'write long notes')
  assert.deepEqual([own.length, sizes.length - own.length], [13, 3])
  // The last response of the turn itself is in it, too.
  assert.equal(usage.inputTokens, usagePerCall.inputTokens * (sizes.length + 1))
})
