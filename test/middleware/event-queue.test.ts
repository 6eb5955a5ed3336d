import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deferred, setUp, toolCall, warnings } from './support.ts'

test('a slow subscriber delays no call, and gets the events one after another', async () => {
  const { middleware } = setUp()
  const wait = deferred()
  const seen: string[] = []
  let inside = 0
  middleware.registerSubscriber('slow', async (event) => {
    inside += 1
    assert.equal(inside, 1)
    await wait.promise
    seen.push(`${event.name} ${event.scope_category}`)
    inside -= 1
  })
  await middleware.tool(toolCall({ toolName: 'a' }))
  await middleware.tool(toolCall({ toolName: 'b' }))
  assert.deepEqual(seen, [])
  wait.resolve()
  await middleware.flush()
  assert.deepEqual(seen, ['a start', 'a end', 'b start', 'b end'])
  assert.deepEqual(middleware.eventCounts(), { waiting: 0, delivered: 4, dropped: 0 })
})

test('an error of a subscriber is logged once, and other subscribers receive all events', async () => {
  const { middleware, log } = setUp()
  const seen: unknown[] = []
  middleware.registerSubscriber('a', () => {
    throw new Error('broken')
  })
  middleware.registerSubscriber('b', () => Promise.reject(new Error('broken later')))
  middleware.registerSubscriber('c', (event) => void seen.push(event.scope_category))
  await middleware.tool(toolCall())
  await middleware.tool(toolCall())
  await middleware.flush()
  assert.deepEqual(seen, ['start', 'end', 'start', 'end'])
  assert.deepEqual(warnings(log), ['middleware.callback_failed', 'middleware.callback_failed'])
  assert.deepEqual(
    log.records.filter(({ level }) => level === 'warn').map(({ fields }) => fields['name']),
    ['a', 'b'],
  )
})

test('a full queue drops events and counts them; the calls continue', async () => {
  const { middleware, log } = setUp({ maxQueuedEvents: 3 })
  const wait = deferred()
  let seen = 0
  middleware.registerSubscriber('stuck', async () => {
    await wait.promise
    seen += 1
  })
  for (let call = 0; call < 5; call++) await middleware.tool(toolCall())
  assert.deepEqual(middleware.eventCounts(), { waiting: 3, delivered: 0, dropped: 7 })
  wait.resolve()
  await middleware.flush()
  assert.equal(seen, 3)
  assert.deepEqual(middleware.eventCounts(), { waiting: 0, delivered: 3, dropped: 7 })
  assert.deepEqual(warnings(log), ['middleware.events_dropped'])
})

test('a subscriber that never settles does not block the queue forever', async () => {
  const { middleware, log } = setUp({ subscriberTimeoutMs: 1 })
  const seen: unknown[] = []
  middleware.registerSubscriber('gone', (event) =>
    event.scope_category === 'start' ? new Promise(() => undefined) : undefined,
  )
  middleware.registerSubscriber('here', (event) => void seen.push(event.scope_category))
  // The timer alone keeps no process alive; something has to.
  const awake = setInterval(() => undefined, 1_000)
  await middleware.tool(toolCall())
  await middleware.flush()
  clearInterval(awake)
  assert.deepEqual(seen, ['start', 'end'])
  assert.equal(warnings(log).length, 1)
})

test('a subscriber runs outside the context of the call of its event', async () => {
  const { middleware } = setUp()
  const parents: unknown[] = []
  // Registered inside, so that the first event of all comes from within the scope.
  await middleware.scope({ name: 'turn', parent: null }, async () => {
    middleware.registerSubscriber('caller', async (event) => {
      if (event.name === 'echo') parents.push(event.parent_uuid)
      else await middleware.tool(toolCall({ toolName: 'echo' }))
    })
    await middleware.tool(toolCall())
  })
  for (let turn = 0; turn < 3; turn++) await middleware.flush()
  assert.deepEqual(parents, Array(6).fill(null))
})

test('64 calls at once with subscribers that wait drop no event', async () => {
  const { middleware } = setUp()
  let seen = 0
  for (const name of ['a', 'b'])
    middleware.registerSubscriber(name, async () => {
      await Promise.resolve()
      seen += 1
    })
  const worker = async () => {
    for (let call = 0; call < 100; call++) await middleware.tool(toolCall())
  }
  await Promise.all(Array.from({ length: 64 }, worker))
  await middleware.flush()
  assert.equal(middleware.eventCounts().dropped, 0)
  assert.equal(seen, 64 * 100 * 2 * 2)
})

test('events are delivered even if synchronous calls never yield to the event loop', async () => {
  const { middleware } = setUp({ maxQueuedEvents: 2_000 })
  let seen = 0
  middleware.registerSubscriber('counts', () => {
    seen += 1
  })
  for (let call = 0; call < 5_000; call++) await middleware.tool(toolCall())
  await middleware.flush()
  assert.equal(middleware.eventCounts().dropped, 0)
  assert.equal(seen, 10_000)
})

test('after the queue was full, calls that never yield do not prevent it from being emptied', async () => {
  const { middleware } = setUp({ maxQueuedEvents: 2_000 })
  const jam = deferred()
  let seen = 0
  middleware.registerSubscriber('jams once', () => {
    seen += 1
    return seen === 1 ? jam.promise : undefined
  })
  for (let call = 0; call < 800; call++) await middleware.tool(toolCall())
  jam.resolve()
  for (let call = 0; call < 5_000; call++) await middleware.tool(toolCall())
  await middleware.flush()
  assert.equal(middleware.eventCounts().dropped, 0)
  assert.equal(seen, 2 * 5_800)
})

test('flush resolves at once when no event is queued', async () => {
  await setUp().middleware.flush()
})

test('an asynchronous subscriber receives every event of calls that never wait for I/O', async () => {
  const { middleware } = setUp({ maxQueuedEvents: 1_000 })
  let seen = 0
  middleware.registerSubscriber('counter', async () => {
    await null
    await null
    seen += 1
  })
  const loop = async () => {
    for (let call = 0; call < 200; call++) await middleware.tool(toolCall())
  }
  await Promise.all(Array.from({ length: 64 }, loop))
  await middleware.flush()
  assert.deepEqual([seen, middleware.eventCounts().dropped], [64 * 200 * 2, 0])
})

test('a subscriber or a sanitizer that flushes does not wait for itself', async () => {
  const { middleware } = setUp()
  const seen: unknown[] = []
  middleware.registerSanitizer('s', 'tool_request', async (payload) => {
    await middleware.flush()
    return payload
  })
  middleware.registerSubscriber('flusher', async (event) => {
    await middleware.flush()
    seen.push(event.scope_category)
  })
  await middleware.tool(toolCall())
  await middleware.flush()
  assert.deepEqual(seen, ['start', 'end'])
})

test('subscribers cannot change the event of one another, nor later events', async () => {
  const { middleware } = setUp()
  const seen: unknown[] = []
  const spoil = (event: object) => {
    const { data, metadata } = Object(event)
    if (data !== null) data.path = 'spoiled'
    metadata.session_id = 'spoiled'
    Object.assign(event, { data: 'spoiled', metadata: null })
  }
  middleware.registerSubscriber('a', spoil)
  middleware.registerSubscriber('b', ({ data, metadata }) => void seen.push([data, metadata?.['session_id']]))
  middleware.registerSubscriber('c', async (event) => spoil(event))
  await middleware.tool(toolCall({ fields: () => ({ session_id: 's1' }) }))
  await middleware.flush()
  assert.deepEqual(seen, [
    [{ path: 'notes.txt' }, 's1'],
    [{ path: 'notes.txt' }, 's1'],
  ])
})
