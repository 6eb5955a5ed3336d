import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createSessionRecall, type RecallingTurn, recallScopeOf } from '../../../src/flows/sessions/session-recall.ts'
import { brand } from '../../../src/lib/ids.ts'
import type { Role } from '../../../src/message/authority.ts'
import type { BackgroundTask } from '../../../src/message/event.ts'
import type { SessionId, SessionKey } from '../../../src/message/ids.ts'
import type { ChatType } from '../../../src/message/source.ts'
import { startNewSession } from '../../../src/sessions/session-state.ts'
import { appendMessage } from '../../../src/sessions/transcript.ts'
import { openStore } from '../../kit/open-store.ts'

/** A turn of a person in a direct message, or in the group. */
function turnOf(userId: string, chatType: ChatType = 'dm', role: Role = 'member'): RecallingTurn {
  const chatId = chatType === 'dm' ? userId : 'group'
  const place = { platform: 'fake', account: 'default', chatId, chatType, userId }
  return {
    sessionId: brand<SessionId>('current'),
    sessionKey: brand<SessionKey>(`fake:${chatType}:${chatId}`),
    event: { source: place, text: 'what did we say?', messageType: 'text', timestamp: 0, allowGatewayControl: true },
    authority: { role, ...place },
  }
}

function taskOf(turn: RecallingTurn, task: Partial<BackgroundTask>): RecallingTurn {
  const source = {
    platform: 'background',
    account: 'default',
    chatId: 'bg_1',
    chatType: 'dm',
    userId: 'fake:x',
  } as const
  const { platform, account = '', chatId = '' } = turn.authority
  const deliver = { platform, account, chatId }
  return {
    ...turn,
    sessionKey: brand<SessionKey>('background:dm:bg_1'),
    event: { ...turn.event, source, task: { id: 'bg_1', deliver, route: 'background', isRequested: true, ...task } },
  }
}

/** Each person has said something in a direct message, and both in a shared group. */
async function library(t: TestContext) {
  const { store, path } = openStore(t)
  const places = [turnOf('alice'), turnOf('bob'), turnOf('carol'), turnOf('boss'), turnOf('alice', 'group')]
  await store.run(function* () {
    for (const { sessionKey: key, event } of places) {
      const start = { key, source: JSON.stringify(event.source), platform: 'fake', userId: '', now: 1 }
      yield* startNewSession({ ...start, newSessionId: key }, `the tulips of ${key}`)
      const message = { role: 'user', content: `plant tulips, says ${key}` } as const
      yield* appendMessage({ sessionId: key, turnId: null, ord: 0, message }, 1)
    }
  })
  const service = createSessionRecall(path, store)
  const signal = new AbortController().signal
  const discover = { kind: 'discover', query: 'tulips', roles: 'user', sort: 'newest', limit: 10 } as const
  return {
    async found(turn: RecallingTurn) {
      const hits = await service.forTurn(turn)(discover, signal)
      const list = await service.forTurn(turn)({ kind: 'browse', limit: 10 }, signal)
      assert.ok(hits.kind === 'discover' && list.kind === 'browse')
      const sessions = hits.results.map(({ session }) => session).sort()
      assert.deepEqual(list.sessions.map(({ session }) => session).sort(), sessions)
      return sessions
    },
    async readable(turn: RecallingTurn, session: string) {
      const whole = await service.forTurn(turn)({ kind: 'read', session, around: null, window: 5 }, signal)
      if (whole.kind !== 'read') return false
      const around = whole.view.rows[0]?.id ?? 0
      return (await service.forTurn(turn)({ kind: 'read', session, around, window: 5 }, signal)).kind === 'read'
    },
  }
}

test('two people of a group find what was said in the group, and nothing of the direct messages of anybody', async (t) => {
  const { found, readable } = await library(t)
  for (const member of ['alice', 'bob']) {
    assert.deepEqual(await found(turnOf(member, 'group')), ['fake:group:group'], member)
    for (const person of ['alice', 'bob', 'carol'])
      assert.equal(await readable(turnOf(member, 'group'), `fake:dm:${person}`), false, `${member} reads ${person}`)
  }
})

test('in a direct message a person finds the own conversations there', async (t) => {
  const { found, readable } = await library(t)
  assert.deepEqual(await found(turnOf('carol')), ['fake:dm:carol'])
  assert.equal(await readable(turnOf('carol'), 'fake:dm:carol'), true)
  assert.equal(await readable(turnOf('carol'), 'fake:dm:alice'), false)
  assert.equal(await readable(turnOf('carol'), 'fake:group:group'), false)
})

test('an owner who asks in a group gets what the group may read, because the group reads the answer', async (t) => {
  const { found } = await library(t)
  assert.deepEqual(await found(turnOf('boss', 'group', 'owner')), ['fake:group:group'])
  assert.deepEqual(await found(turnOf('boss', 'dm', 'owner')), ['fake:dm:boss'])
})

test('a background task finds the direct messages of a person only if its answer goes there', async (t) => {
  const { found } = await library(t)
  assert.deepEqual(await found(taskOf(turnOf('alice'), {})), ['fake:dm:alice'])
  const room = { platform: 'fake', account: 'default', chatId: 'room' }
  assert.deepEqual(await found(taskOf(turnOf('alice'), { deliver: room })), [])
  assert.deepEqual(await found(taskOf(turnOf('alice'), { deliver: null })), [])
  const ofHook = taskOf(turnOf('alice'), {})
  const { isRequested: _, ...task } = ofHook.event.task ?? { id: '', deliver: null, route: '' }
  assert.deepEqual(await found({ ...ofHook, event: { ...ofHook.event, task } }), [])
})

test('a program that may stand for many people reads the session that it names, and no other', () => {
  const turn = turnOf('api')
  const program = { ...turn, event: { ...turn.event, metadata: { attended: 'no' } } }
  assert.deepEqual(recallScopeOf(program), { sessionKey: 'fake:dm:api' })
  assert.notEqual(recallScopeOf(turn).direct, undefined)
})

test('one question on the command line is asked by the person of the machine', () => {
  const { event, ...turn } = turnOf('owner', 'dm', 'owner')
  const asked = (platform: string) => {
    const source = { ...event.source, platform }
    return recallScopeOf({ ...turn, event: { ...event, source, metadata: { attended: 'no' } } })
  }
  assert.notEqual(asked('cli').direct, undefined)
  assert.equal(asked('batch').direct, undefined)
  assert.equal(asked('api_server').direct, undefined)
})

test('what was said a moment ago is found, although the index of the search is behind', async (t) => {
  const { store, path } = openStore(t)
  const { sessionKey: key, event } = turnOf('alice')
  const start = { key, source: JSON.stringify(event.source), platform: 'fake', userId: '', now: 1 }
  await store.run(function* () {
    yield* startNewSession({ ...start, newSessionId: 'earlier' }, 'earlier')
    for (let ord = 0; ord < 45; ord++) {
      const message = { role: 'user', content: ord === 44 ? 'plant tulips' : `line ${ord}` } as const
      yield* appendMessage({ sessionId: 'earlier', turnId: 'no reply has been sent', ord, message }, 1)
    }
  })
  const recall = createSessionRecall(path, store).forTurn(turnOf('alice'))
  const discover = { kind: 'discover', roles: 'user', sort: 'newest', limit: 10 } as const
  for (const query of ['line', 'tulips']) {
    const found = await recall({ ...discover, query }, new AbortController().signal)
    assert.ok(found.kind === 'discover')
    assert.deepEqual(
      found.results.map(({ session }) => session),
      ['earlier'],
      query,
    )
  }
})
