import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createEventFeed, type EventFeed, type EventQuery } from '../../../src/flows/events/event-feed.ts'
import { createGatewayEvents, type GatewayEvents } from '../../../src/flows/events/gateway-events.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { beginEpoch } from '../../../src/sessions/session-state.ts'
import { appendMessage } from '../../../src/sessions/transcript.ts'
import { beginTurn } from '../../../src/sessions/turns.ts'
import type { Store } from '../../../src/store/store.ts'
import { recordingLog } from '../../http/support.ts'
import { openStore } from '../../kit/open-store.ts'

interface Fed {
  readonly feed: EventFeed
  readonly events: GatewayEvents
  readonly stopping: AbortController
  /** Runs the timer that closes an idle feed. */
  becomeIdle(): void
}

function createFeed(
  t: TestContext,
  start = 1_000_000,
  deps: { readonly store?: Store; readonly maxKept?: number } = {},
): Fed {
  const { log } = recordingLog()
  const events = createGatewayEvents({ listeners: [], emitsEvents: () => false, log })
  const stopping = new AbortController()
  let idle: (() => void) | undefined
  const withhold = (text: string) => text.replace('hunter2', '[withheld]')
  const feed = createEventFeed(
    { store: openStore(t).store, events, log, withhold, clock: () => start, ...deps },
    stopping.signal,
    (call) => {
      idle = call
      return () => {
        idle = undefined
      }
    },
  )
  return { feed, events, stopping, becomeIdle: () => idle?.() }
}

const all: EventQuery = { types: new Set(), limit: 500 }
const never = new AbortController().signal
const fire = ({ events }: Fed, name: string) => events.jobFired({ id: 'j', name }, 0)

test('without clients nothing is observed, and an idle feed ends', async (t) => {
  const fed = createFeed(t)
  const isObserved = () => fed.events.emitsEvents({ platform: 'cli' })
  assert.equal(isObserved(), false)
  const first = await fed.feed.read(all, 0, never)
  fire(fed, 'kept')
  const second = await fed.feed.read({ ...all, after: Number(first.next_cursor) }, 0, never)
  assert.equal(second.events.length, 1)
  assert.equal(isObserved(), true)
  fed.becomeIdle()
  // The feed closes once it is open.
  await Promise.resolve()
  assert.equal(isObserved(), false)
  fire(fed, 'unseen')
  const third = await fed.feed.read({ ...all, after: Number(second.next_cursor) }, 0, never)
  // Whatever happened meanwhile is lost, and the client is told.
  assert.deepEqual([third.events, third.missed], [[], true])
})

test('two thousand clients wait at once and all are told; one more is refused', async (t) => {
  const fed = createFeed(t)
  const { next_cursor: cursor } = await fed.feed.read(all, 0, never)
  const query = { ...all, after: Number(cursor) }
  const waiting = Array.from({ length: 2_000 }, () => fed.feed.read(query, 60_000, never))
  // Each of them takes its place in a few steps.
  for (let step = 0; step < 20; step += 1) await Promise.resolve()
  await assert.rejects(fed.feed.read(query, 60_000, never), (error) => isHermesError(error, 'http/busy'))
  fire(fed, 'now')
  for (const page of await Promise.all(waiting)) assert.equal(page.events.length, 1)
})

test('a client that hangs up and a gateway that stops end the wait', async (t) => {
  const fed = createFeed(t)
  const { next_cursor: cursor } = await fed.feed.read(all, 0, never)
  const query = { ...all, after: Number(cursor) }
  const client = new AbortController()
  const gone = fed.feed.read(query, 300_000, client.signal)
  const waits = fed.feed.read(query, 300_000, never)
  client.abort()
  assert.deepEqual((await gone).events, [])
  fed.stopping.abort()
  assert.deepEqual((await waits).events, [])
})

test('a client that comes too late for old events learns that they are lost', async (t) => {
  const fed = createFeed(t)
  const { next_cursor: cursor } = await fed.feed.read(all, 0, never)
  for (let number = 0; number < 2_100; number += 1) fire(fed, String(number))
  const late = await fed.feed.read({ ...all, after: Number(cursor) }, 0, never)
  assert.equal(late.missed, true)
  const seen = late.events.map((event) => (event.type === 'job_fired' ? event.name : ''))
  let after = Number(late.next_cursor)
  for (let page = late; page.events.length > 0; after = Number(page.next_cursor)) {
    page = await fed.feed.read({ ...all, after }, 0, never)
    assert.equal(page.missed, false)
    seen.push(...page.events.map((event) => (event.type === 'job_fired' ? event.name : '')))
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 2_000 }, (_, index) => String(index + 100)),
  )
})

test('no event of a process has a cursor of the process before', async (t) => {
  const before = createFeed(t)
  const { next_cursor: cursor } = await before.feed.read(all, 0, never)
  for (let number = 0; number < 10; number += 1) fire(before, String(number))
  const { next_cursor: last } = await before.feed.read({ ...all, after: Number(cursor) }, 0, never)
  for (const startedAfterMs of [64, 10 * 64, 2_000]) {
    const later = createFeed(t, 1_000_000 + startedAfterMs)
    const page = await later.feed.read({ ...all, after: Number(last) }, 0, never)
    assert.equal(page.missed, true, `started ${startedAfterMs} ms later`)
    assert.ok(Number(page.next_cursor) > Number(last))
  }
})

test('a cursor of an earlier process whose place is larger hides no event of this one', async (t) => {
  const later = createFeed(t, 1_000_000)
  const { next_cursor: cursor } = await later.feed.read(all, 0, never)
  fire(later, 'one')
  const page = await later.feed.read({ ...all, after: Number(cursor) + 1_000_000 }, 0, never)
  assert.deepEqual(
    page.events.map(({ type }) => type),
    ['job_fired'],
  )
  assert.equal(page.missed, true)
})

test('messages that leave the memory while a client reads older ones are still told', async (t) => {
  const { store } = openStore(t)
  let gate: Promise<void> | undefined
  const slow: Store = {
    ...store,
    async run(transaction) {
      const waits = gate
      gate = undefined
      const result = await store.run(transaction)
      await waits
      return result
    },
  }
  await writeMessage(store, 1)
  const fed = createFeed(t, 1_000_000, { store: slow, maxKept: 2 })
  await fed.feed.read(all, 0, never)
  const released = Promise.withResolvers<void>()
  gate = released.promise
  const reading = fed.feed.read({ types: new Set(['message']), after: 0, limit: 50 }, 0, never)
  await Promise.resolve()
  await writeMessage(store, 2)
  fed.events.emit('agent:step', {
    ...{ platform: 'web', user_id: 'u', session_id: 's', iteration: 1, tool_names: [], tools: [] },
  })
  for (let number = 0; number < 4; number += 1) fire(fed, String(number))
  // The log has read the message when a later client gets its events.
  await fed.feed.read({ ...all, after: 0 }, 0, never)
  released.resolve()
  const page = await reading
  assert.deepEqual(
    page.events.map((event) => (event.type === 'message' ? event.text : event.type)),
    ['message 1', 'message 2'],
  )
  assert.equal(page.missed, false)
})

async function writeMessage(store: Store, number: number): Promise<void> {
  const { epoch } = await store.run(() =>
    beginEpoch({ key: 'k', source: '{}', platform: 'web', userId: 'u', newSessionId: 's', now: 10 }),
  )
  const turnId = `turn-${number}`
  const turn = { sessionKey: 'k', sessionId: 's', epoch, seq: number, origin: '{}', authority: '{}', route: '{}' }
  await store.run(() => beginTurn({ id: turnId, ...turn }, 10))
  const message = { role: 'user', content: `message ${number}` } as const
  await store.run(() => appendMessage({ sessionId: 's', turnId, ord: number, message }, 10))
}
