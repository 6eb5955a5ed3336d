/**
 * Sub-agents in depth: roles, toolsets, models and schemas of their tasks, and what holds at every depth.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { type AgentConfig, agentConfig } from '../../../src/agent/config.ts'
import type { ToolApprovalRequest } from '../../../src/agent/loop/tool-approval.ts'
import type { RunningSubagent } from '../../../src/agent/support/agent-hooks.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { ManagedEvent } from '../../../src/middleware/contract.ts'
import { createMiddleware } from '../../../src/middleware/middleware.ts'
import { call, scriptedProvider, usagePerCall } from '../../kit/scripted-provider.ts'
import { testToolContext } from '../in-memory-deps.ts'
import { turnInfo } from '../run-test-agent.ts'
import { asks, delegating } from './delegating.ts'

function delegationOf(more: Partial<AgentConfig['delegation']>): Partial<AgentConfig> {
  return { delegation: { ...z.object(agentConfig).parse({}).delegation, ...more } }
}

/** Each agent delegates once more until the depth is used up; the last one calls `look`. */
const deeper = (id: string) => asks(call(id, 'delegate_task', { goal: `goal ${id}`, role: 'orchestrator' }))
const chain = [
  deeper('a'),
  deeper('b'),
  deeper('c'),
  asks(call('x', 'look')),
  { chunks: ['found by the third'] },
  { chunks: ['found by the second'] },
  { chunks: ['found by the first'] },
  { chunks: ['ok'] },
]
const look = { look: async () => 'seen' }

test('three depths: each sub-agent is the child of the one above, and the tokens of all count for the turn', async () => {
  const middleware = createMiddleware({ log: silentLog })
  const events: ManagedEvent[] = []
  middleware.registerSubscriber('look', (event) => void events.push(event))
  const { result, received, turns, provider } = delegating(chain, look, {
    middleware,
    settings: delegationOf({ max_spawn_depth: 3 }),
  })
  const { usage } = await result
  await middleware.flush()
  assert.equal(usage.inputTokens, 7 * usagePerCall.inputTokens, 'the journal has the first call')
  assert.deepEqual(
    received.map(({ parent, child, ending }) => [
      child.subagentId,
      child.depth,
      child.role,
      parent.subagent?.subagentId,
      ending?.status,
    ]),
    [
      ['a.0', 1, 'orchestrator', undefined, undefined],
      ['b.0', 2, 'orchestrator', 'a.0', undefined],
      ['c.0', 3, 'leaf', 'b.0', undefined],
      ['c.0', 3, 'leaf', 'b.0', 'completed'],
      ['b.0', 2, 'orchestrator', 'a.0', 'completed'],
      ['a.0', 1, 'orchestrator', undefined, 'completed'],
    ],
  )
  for (const [index, turn] of turns.entries()) {
    if (index === 0) continue
    assert.deepEqual(
      [turn.rootTurnId, turn.parentSessionId, turn.role, turn.sessionKey],
      ['t', turns[index - 1]?.sessionId, turnInfo.role, turnInfo.sessionKey],
    )
  }
  const scopes = events.filter((event) => event.scope_category === 'start')
  const parents = new Map(scopes.map((event) => [event.uuid, event]))
  const above = (event: ManagedEvent | undefined, name: string): ManagedEvent | undefined => {
    const parent = parents.get(event?.parent_uuid ?? '')
    return parent === undefined || parent.name === name ? parent : above(parent, name)
  }
  const subagents = scopes.filter(({ name }) => name === 'subagent')
  assert.deepEqual(
    subagents.map((event) => [event.metadata?.['depth'], event.metadata?.['role'], above(event, 'subagent')?.uuid]),
    [
      [1, 'orchestrator', undefined],
      [2, 'orchestrator', subagents[0]?.uuid],
      [3, 'leaf', subagents[1]?.uuid],
    ],
  )
  const tools = provider.requests.map((request) => request.tools.map(({ name }) => name).join())
  assert.equal(tools[2], 'delegate_task,look', 'an orchestrator keeps the tool')
  assert.equal(tools[3], 'look', 'the last depth does not')
})

test('depth 4 is a clear error, whatever role is asked for', async () => {
  const { result, provider } = delegating(
    [
      deeper('a'),
      deeper('b'),
      deeper('c'),
      deeper('d'),
      { chunks: ['three'] },
      { chunks: ['two'] },
      { chunks: ['one'] },
      { chunks: ['ok'] },
    ],
    look,
    { settings: delegationOf({ max_spawn_depth: 3 }) },
  )
  await result
  const refused = provider.requests[4]?.messages.findLast(({ role }) => role === 'tool')
  assert.match(refused?.content ?? '', /delegation\.max_spawn_depth/)
  assert.equal(z.object(agentConfig).safeParse({ delegation: { max_spawn_depth: 4 } }).success, false)
})

test('an abort of the turn ends the sub-agents of all depths', async () => {
  const { result, stop, provider, received } = delegating(
    [deeper('a'), deeper('b'), deeper('c'), { chunks: ['I be'], hang: true }],
    look,
    { settings: delegationOf({ max_spawn_depth: 3 }) },
  )
  await provider.hanging
  const reason = new Error('stopped')
  stop.abort(reason)
  await assert.rejects(result, reason)
  const ends = received.flatMap(({ child, ending }) => (ending === undefined ? [] : [[child.depth, ending.status]]))
  assert.deepEqual(ends, [
    [3, 'interrupted'],
    [2, 'interrupted'],
    [1, 'interrupted'],
  ])
})

test('a sub-agent that a person stops ends with its own sub-agents, and its parent goes on', async () => {
  const runningSubagents = new Map<string, RunningSubagent>()
  const { result, provider, reports, received } = delegating(
    [deeper('a'), deeper('b'), { chunks: ['I be'], hang: true }, { chunks: ['then without it'] }],
    look,
    { settings: delegationOf({ max_spawn_depth: 3 }), runningSubagents },
  )
  await provider.hanging
  const [first, second] = runningSubagents.values()
  assert.match(first?.id ?? '', /^sub_\d{6}_[0-9a-f]{8}$/)
  assert.deepEqual([first?.tool(), second?.tool()], ['delegate_task', undefined])
  assert.equal(first?.usage().inputTokens, usagePerCall.inputTokens)
  first?.stop()
  assert.equal((await result).text, 'then without it')
  assert.equal(reports().results[0].status, 'interrupted')
  assert.equal(runningSubagents.size, 0)
  assert.equal(received.filter(({ ending }) => ending?.status === 'interrupted').length, 2)
})

test('a sub-agent that takes too long is ended, and the agent reads how far it came', async () => {
  const { result, reports } = delegating(
    [
      asks(call('d', 'delegate_task', { goal: 'for ever' })),
      { chunks: ['halfway'], calls: [call('x', 'look')] },
      { chunks: ['I be'], hang: true },
      { chunks: ['then without it'] },
    ],
    look,
    { settings: delegationOf({ child_timeout_seconds: 0.05 }) },
  )
  assert.equal((await result).text, 'then without it')
  const [report] = reports().results
  assert.equal(report.status, 'failed')
  assert.match(report.summary, /child_timeout_seconds.*halfway/)
})

test('an approval at depth 2 is asked in the conversation of the turn', async () => {
  const asked: ToolApprovalRequest[] = []
  const { result } = delegating(
    [deeper('a'), deeper('b'), asks(call('x', 'look')), { chunks: ['2'] }, { chunks: ['1'] }, { chunks: ['ok'] }],
    look,
    {
      settings: delegationOf({ max_spawn_depth: 2 }),
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
    asked.map(({ info }) => [info.turn, info.toolCallId]),
    [[turnInfo, 'a.0.b.0.x']],
  )
})

test('a sub-agent gets the toolsets of its task, or the configured ones, and never more than its parent has', async () => {
  const tools = { look: async () => 'seen', web_look: async () => 'seen', home_light: async () => 'on' }
  for (const [asked, expected] of [
    [undefined, 'look,web_look'],
    [['home'], 'home_light'],
    [['*'], 'home_light,look,web_look'],
    [[], ''],
  ] as const) {
    const { result, provider } = delegating(
      [
        asks(call('d', 'delegate_task', { goal: 'g', ...(asked && { toolsets: asked }) })),
        { chunks: ['done'] },
        { chunks: ['ok'] },
      ],
      tools,
    )
    await result
    const names = provider.requests[1]?.tools.map(({ name }) => name).sort()
    assert.equal(names?.join(), expected)
  }
})

test('what a task cannot have is an error before any sub-agent starts', async () => {
  for (const [task, code] of [
    [{ model: 'two words' }, 'invalid_model'],
    [{ model: '' }, 'invalid_model'],
    [{ images: ['/etc/passwd'] }, 'unknown_image'],
    [{ images: Array.from({ length: 9 }, () => '/a.png') }, 'too_many_images'],
    [{ output_schema: { type: 'strange' } }, 'invalid_schema'],
    [{ output_schema: { $ref: '#' } }, 'invalid_schema'],
    [{ output_schema: { type: 'string', pattern: '(a+)+$' } }, 'invalid_schema'],
    [{ output_schema: { enum: ['x'.repeat(30_000)] } }, 'invalid_schema'],
  ] as const) {
    const { result, reports, received } = delegating(
      [asks(call('d', 'delegate_task', { tasks: [{ goal: 'fine' }, { goal: 'g', ...task }] })), { chunks: ['sorry'] }],
      look,
    )
    await result
    assert.equal(reports().code, code, JSON.stringify(task))
    assert.deepEqual(received, [])
  }
})

test('a toolset that a sub-agent may not have is left out, and the result says so', async () => {
  const tools = { look: async () => 'seen', web_look: async () => 'seen', home_light: async () => 'on' }
  for (const toolsets of [
    ['home', 'browser'],
    ['delegation', 'home'],
    ['memory', 'browser', 'home'],
  ]) {
    const delegation = asks(call('d', 'delegate_task', { tasks: [{ goal: 'fine' }, { goal: 'g', toolsets }] }))
    const { result, provider, reports } = delegating(
      [delegation, { chunks: ['done'] }, { chunks: ['done'] }, { chunks: ['ok'] }],
      tools,
    )
    await result
    assert.equal(provider.requests[2]?.tools.map(({ name }) => name).join(), 'home_light')
    const [whole, limited] = reports().results
    assert.deepEqual([whole.status, whole.note, limited.status], ['completed', undefined, 'completed'])
    for (const name of toolsets.filter((one) => one !== 'home')) assert.match(limited.note, new RegExp(`"${name}"`))
    assert.match(limited.note, /There are: .*home/)
  }
})

const image = { type: 'image', file: 'a.png', mimeType: 'image/png', bytes: 9, width: 1, height: 1 } as const

/** Delegates with a picture and another file that were sent to the conversation. */
function delegatingFiles(images: readonly string[], ...steps: Parameters<typeof delegating>[0]) {
  return delegating(
    [asks(call('d', 'delegate_task', { tasks: [{ goal: 'look', images }] })), ...steps],
    {},
    {
      toolContextFor: (of) => ({
        ...testToolContext(of, new AbortController().signal),
        conversation: {
          attachments: async () => ['/media/a.png', '/media/a.pdf'],
          pictures: async () => [{ path: '/media/a.png', image }],
        },
      }),
    },
  )
}

test('a sub-agent is shown a picture of the conversation, and reads its path', async () => {
  const { result, provider } = delegatingFiles(['/media/a.png'], { chunks: ['a cat'] }, { chunks: ['ok'] })
  await result
  assert.deepEqual(provider.requests[1]?.messages, [
    { role: 'user', content: '[Attached photo: /media/a.png]\nlook', images: [image] },
  ])
})

test('a file of the conversation that is no picture is not shown to a sub-agent', async () => {
  const { result, reports } = delegatingFiles(['/media/a.png', '/media/a.pdf'], { chunks: ['sorry'] })
  await result
  assert.equal(reports().code, 'not_shown')
})

test('a turn without a conversation that goes on starts nothing in the background', async () => {
  const { result, reports, received } = delegating([
    asks(call('d', 'delegate_task', { goal: 'g', background: true })),
    { chunks: ['sorry'] },
  ])
  await result
  assert.equal(reports().code, 'no_background')
  assert.deepEqual(received, [])
})

test('a turn starts a limited number of sub-agents, at all depths together', async () => {
  const { result, received } = delegating(chain, look, {
    settings: delegationOf({ max_spawn_depth: 3, max_children_per_turn: 2 }),
  })
  await result
  assert.deepEqual([...new Set(received.map(({ child }) => child.subagentId))], ['a.0', 'b.0'])
})

test('an orchestrator may be asked for with the toolset that its role has', async () => {
  const asked = { goal: 'g', role: 'orchestrator', toolsets: ['home', 'delegation'] }
  const script = [asks(call('d', 'delegate_task', asked)), { chunks: ['done'] }, { chunks: ['ok'] }]
  const { result, provider } = delegating(
    script,
    { home_light: async () => 'on' },
    { settings: delegationOf({ max_spawn_depth: 2 }) },
  )
  await result
  assert.deepEqual(provider.requests[1]?.tools.map(({ name }) => name).sort(), ['delegate_task', 'home_light'])
})

test('1,000 tasks are an error, and none is started', async () => {
  const tasks = Array.from({ length: 1_000 }, (_, at) => ({ goal: `task ${at}` }))
  const { result, reports, received } = delegating([asks(call('d', 'delegate_task', { tasks })), { chunks: ['sorry'] }])
  await result
  assert.equal(reports().code, 'too_many_tasks')
  assert.deepEqual(received, [])
})

test('a task may name another model, and the configuration another provider', async () => {
  const other = scriptedProvider([{ chunks: ['from afar'] }])
  const { result, turns } = delegating(
    [asks(call('d', 'delegate_task', { goal: 'g', model: 'large' })), { chunks: ['near'] }, { chunks: ['ok'] }],
    look,
  )
  await result
  assert.deepEqual(
    turns.map(({ model }) => model),
    ['m', 'large'],
  )
  const far = delegating([asks(call('d', 'delegate_task', { goal: 'g' })), { chunks: ['ok'] }], look, {
    subagentModel: async () => ({ provider: other, model: 'small' }),
  })
  await far.result
  assert.equal(far.reports().results[0].summary, 'from afar')
  assert.equal(far.turns[1]?.model, 'small')
})
