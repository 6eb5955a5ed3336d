import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createSessionServices } from '../../../src/flows/sessions/session-services.ts'
import { createEventResults } from '../../../src/inbox/inbox.ts'
import { acceptEvent, claimEvent, findEventState } from '../../../src/inbox/queries.ts'
import { bindMessage } from '../../../src/inbox/waiting-messages.ts'
import { brand } from '../../../src/lib/ids.ts'
import type { SessionKey } from '../../../src/message/ids.ts'
import { createRunningTurns, StopRequested } from '../../../src/sessions/running-turns.ts'
import { addTurnInput, beginTurn } from '../../../src/sessions/turns.ts'
import { openStore } from '../../kit/open-store.ts'

const key = brand<SessionKey>('agent:main:chat:dm:c')
const source = { platform: 'chat', account: 'bot', chatId: 'c', chatType: 'dm', userId: 'u' } as const

/** A session with an open turn of two messages. No process runs it. */
async function openTurn(t: TestContext) {
  const { store } = openStore(t)
  const running = createRunningTurns()
  const turnResults = createEventResults(store)
  const woken: string[] = []
  const engine = {
    wake: (session: SessionKey) => void woken.push(session),
  }
  const services = createSessionServices({
    store,
    engine,
    runningTurns: running,
    turnResults,
    emit: () => undefined,
    clock: () => 1,
    emitsEvents: () => false,
  })
  const payload = JSON.stringify({ source, text: 'hello', messageType: 'text', timestamp: 1 })
  const row = { sessionKey: key, lane: 'turn', kind: 'text', platform: 'chat', account: 'bot', chatId: 'c' } as const
  const [head, joined] = await store.run(function* () {
    const first = (yield* acceptEvent({ ...row, payload }, ['1'], 1)).seq
    const second = (yield* acceptEvent({ ...row, payload }, ['2'], 1)).seq
    const turn = { id: 't1', sessionKey: key, sessionId: 's1', epoch: 1, seq: first, origin: '{}' }
    yield* beginTurn({ ...turn, authority: 'u', route: '' }, 1)
    yield* claimEvent(first, 't1')
    yield* bindMessage(second, 't1')
    yield* addTurnInput('t1', second, 'merged')
    return [first, second]
  })
  return { store, running, services, turnResults, woken, head, joined }
}

test('everybody who waits for an abandoned turn learns that it was stopped, also for a message that joined it', async (t) => {
  const { store, services, turnResults, head, joined } = await openTurn(t)
  const waiting = [head, joined].map((seq) => turnResults.wait(seq, t.signal))
  // Both are registered, and no result is stored.
  await Promise.all([head, joined].map((seq) => store.run(() => findEventState(seq))))
  const reply = await services.changeConversation(key, {
    // biome-ignore lint/correctness/useYield: a check without a query
    *refusal() {
      return undefined
    },
    // biome-ignore lint/correctness/useYield: a change without a query
    *run() {
      return 'changed'
    },
  })
  await store.commit(reply, () => 2)
  assert.deepEqual(
    (await Promise.all(waiting)).map(({ status }) => status),
    ['stopped', 'stopped'],
  )
})

test('a stop reaches a turn that was claimed and has not begun', async (t) => {
  const { running, services, woken, head } = await openTurn(t)
  assert.equal(await services.stopTurn(key), 'stopped')
  assert.deepEqual(woken, [key])
  assert.ok(running.start(key, head, t.signal).signal.reason instanceof StopRequested)
})

test('where a stop is for one person only, the turn of another goes on', async (t) => {
  const { services, woken } = await openTurn(t)
  assert.equal(await services.stopTurn(key, 'another'), 'of-another')
  assert.deepEqual(woken, [])
  assert.equal(await services.stopTurn(key, source.userId), 'stopped')
  assert.deepEqual(woken, [key])
})

test('the deletion of a message reaches its turn that was claimed and has not begun', async (t) => {
  const { running, services, head, joined } = await openTurn(t)
  await services.stopEvent(joined)
  assert.ok(running.start(key, head, t.signal).signal.reason instanceof StopRequested)
})
