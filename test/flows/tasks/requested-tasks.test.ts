import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { RunningSubagent } from '../../../src/agent/support/agent-hooks.ts'
import { createBackgroundTasks } from '../../../src/flows/tasks/background-tasks.ts'
import { createRequestedTasks } from '../../../src/flows/tasks/requested-tasks.ts'
import { createEventResults } from '../../../src/inbox/inbox.ts'
import { brand } from '../../../src/lib/ids.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { SessionKey } from '../../../src/message/ids.ts'
import type { SessionSource } from '../../../src/message/source.ts'
import { turnInfo } from '../../agent/run-test-agent.ts'
import { inboxFor, message } from '../../inbox/support.ts'
import { ownerAuthority } from '../../kit/authority.ts'

function tasksOn(t: TestContext) {
  const { inbox, store, stored } = inboxFor(t)
  const runtime = { store, clock: Date.now, log: silentLog }
  const stopped: number[] = []
  const stopEvent = async (seq: number) => void stopped.push(seq)
  /** The sub-agents of a new process. */
  const running = new Map<string, RunningSubagent>()
  const create = () =>
    createRequestedTasks({
      tasks: createBackgroundTasks(runtime, inbox, createEventResults(store)),
      stopEvent,
      running,
      handInUnstarted: async () => undefined,
      sessionKeyOf: ({ chatId }) => brand<SessionKey>(chatId),
      store,
      withhold: (text) => text,
      clock: () => 5_000,
    })
  return { create, stored, stopped, running }
}

function by(userId: string, seq: number, more: Partial<SessionSource> = {}) {
  const source = {
    platform: 'chat',
    account: 'default',
    chatId: 'c',
    chatType: 'dm' as const,
    userId,
    ...more,
  }
  return {
    source,
    authority: { ...ownerAuthority, role: 'member' as const },
    message: { seq, event: message('/background look') },
  }
}

test('a request that a crash repeats starts no second task', async (t) => {
  const { create, stored } = tasksOn(t)
  const first = await create().start(by('ada', 7), 'look')
  const again = await create().start(by('ada', 7), 'look')
  assert.deepEqual(again, first)
  assert.equal(stored().length, 1)
  await create().start(by('ada', 8), 'look')
  assert.equal(stored().length, 2)
})

test('a person has at most five tasks, also when all requests arrive at once from several chats', async (t) => {
  const { create, stored } = tasksOn(t)
  const tasks = create()
  const results = await Promise.all(
    Array.from({ length: 8 }, (_, index) => tasks.start(by('ada', index, { chatId: `c${index}` }), 'look')),
  )
  assert.equal(results.filter(({ status }) => status === 'started').length, 5)
  assert.equal((await tasks.start(by('bob', 100), 'look')).status, 'started')
  assert.equal(stored().length, 6)
})

test('an owner sees the tasks of all people in a private chat only, and may stop each', async (t) => {
  const { create, stopped } = tasksOn(t)
  const tasks = create()
  const started = await tasks.start(by('ada', 1), 'look')
  assert.ok(started.status === 'started')
  const owner = { ...by('eve', 2), authority: ownerAuthority }
  assert.equal(tasks.list(owner).length, 1)
  assert.equal(tasks.list({ ...owner, source: { ...owner.source, chatType: 'group' } }).length, 0)
  assert.equal(tasks.list(by('bob', 3)).length, 0)
  assert.equal(await tasks.stop(by('bob', 4), started.id), false)
  assert.deepEqual(stopped, [])
  assert.equal(await tasks.stop(owner, started.id), true)
  assert.equal(stopped.length, 1)
})

test('a group sees the tasks that were requested in it, and not those of private chats', async (t) => {
  const tasks = tasksOn(t).create()
  const group = { chatId: 'g', chatType: 'group' as const }
  await tasks.start(by('ada', 1), 'private')
  await tasks.start(by('ada', 2, group), 'public')
  const listed = (more: Partial<SessionSource> = {}) => tasks.list(by('ada', 3, more)).map(({ prompt }) => prompt)
  assert.deepEqual(listed(group), ['public'])
  assert.deepEqual(listed().sort(), ['private', 'public'])
})

test('people see and stop the sub-agents that work for them, in a group only those of that conversation', async (t) => {
  const { create, running } = tasksOn(t)
  const tasks = create()
  const stopped: string[] = []
  for (const [id, causedBy, sessionKey] of [
    ['sub_1', 'chat:ada', 'c'],
    ['sub_2', 'chat:ada', 'g'],
    ['sub_3', 'chat:bob', 'g'],
  ] as const)
    running.set(id, {
      id,
      info: { sessionId: id, subagentId: 'd.0', role: 'leaf', goal: `goal of ${id}`, depth: 2 },
      turn: { ...turnInfo, causedBy, sessionKey },
      startedAt: 2_000,
      tool: () => 'terminal',
      usage: () => ({ inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, cacheWriteTokens: 0 }),
      stop: () => void stopped.push(id),
    })
  const idsFor = (who: ReturnType<typeof by>) => tasks.list(who).map(({ id }) => id)
  const group = { chatId: 'g', chatType: 'group' as const }
  assert.deepEqual(idsFor(by('ada', 1)), ['sub_1', 'sub_2'])
  assert.deepEqual(idsFor(by('ada', 1, group)), ['sub_2'])
  assert.deepEqual(idsFor(by('eve', 1)), [])
  assert.equal(idsFor({ ...by('eve', 1), authority: { ...ownerAuthority, role: 'member' } }).length, 0)
  const [first] = tasks.list(by('ada', 1))
  assert.deepEqual(
    [first?.prompt, first?.ageMs, first?.subagent],
    ['goal of sub_1', 3_000, { depth: 2, tokens: 15, tool: 'terminal' }],
  )
  assert.equal(await tasks.stop(by('ada', 2), 'sub_3'), false)
  assert.equal(await tasks.stop(by('ada', 2), 'sub_1'), true)
  assert.deepEqual(stopped, ['sub_1'])
})
