import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createBackgroundTasks } from '../../src/flows/background-tasks.ts'
import { createRequestedTasks } from '../../src/flows/requested-tasks.ts'
import { createEventResults } from '../../src/inbox/event-results.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { SessionSource } from '../../src/message/source.ts'
import { inboxFor, message } from '../inbox/support.ts'
import { ownerAuthority } from '../kit/authority.ts'

function tasksOn(t: TestContext) {
  const { inbox, store, stored } = inboxFor(t)
  const deps = { store, inbox, turnResults: createEventResults(store), clock: Date.now, log: silentLog }
  const stopped: number[] = []
  const stopEvent = async (seq: number) => void stopped.push(seq)
  /** Those of a new process. */
  const create = () => createRequestedTasks({ tasks: createBackgroundTasks(deps), stopEvent })
  return { create, stored, stopped }
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
