import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createEventFeed, type EventFeed, type EventQuery } from '../../../src/flows/events/event-feed.ts'
import { createGatewayEvents, type GatewayEvents } from '../../../src/flows/gateway-events.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { recordingLog } from '../../http/support.ts'
import { openStore } from '../../kit/open-store.ts'

interface Fed {
  readonly feed: EventFeed
  readonly events: GatewayEvents
  readonly stopping: AbortController
  /** Runs the timer that closes an idle feed. */
  becomeIdle(): void
}

function createFeed(t: TestContext, start = 1_000_000): Fed {
  const { log } = recordingLog()
  const events = createGatewayEvents({ listeners: [], hooks: () => undefined, emitsEvents: () => false, log })
  const stopping = new AbortController()
  let idle: (() => void) | undefined
  const feed = createEventFeed({
    ...{ store: openStore(t).store, events, stopping: stopping.signal, log },
    withhold: (text) => text.replace('hunter2', '[withheld]'),
    clock: () => start,
    setTimer(call) {
      idle = call
      return () => {
        idle = undefined
      }
    },
  })
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
  // The next process starts two seconds later.
  const later = createFeed(t, 1_002_000)
  const page = await later.feed.read({ ...all, after: Number(last) }, 0, never)
  assert.equal(page.missed, true)
  assert.ok(Number(page.next_cursor) > Number(last))
})
