import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGatewayEvents } from '../../../src/flows/events/gateway-events.ts'
import { silentLog } from '../../../src/lib/log.ts'

const chat = { platform: 'chat' }

function eventsOf({ listeners = 0 }: { readonly listeners?: number } = {}) {
  const subscribed = new Set<string>()
  const events = createGatewayEvents({
    listeners: Array.from({ length: listeners }, () => () => undefined),
    emitsEvents: ({ platform }) => platform === 'chat',
    log: silentLog,
  })
  events.connectHooks({ emit: () => undefined, subscribed })
  return { events, subscribed }
}

test('an event of a platform has a receiver while a hook, a listener or an observer receives it', () => {
  const { events, subscribed } = eventsOf()
  assert.equal(events.emitsEvents(chat), false)
  assert.equal(events.emitsMessageEvents(chat), false)

  subscribed.add('agent:*')
  assert.equal(events.emitsEvents(chat), true)
  assert.equal(events.emitsMessageEvents(chat), true)
  subscribed.clear()

  const stop = events.observe({})
  assert.equal(events.emitsEvents(chat), true)
  stop()
  assert.equal(events.emitsEvents(chat), false)

  assert.equal(eventsOf({ listeners: 1 }).events.emitsEvents(chat), true)
})

test('only observers receive the events of a platform whose gateway events hooks do not receive', () => {
  const { events, subscribed } = eventsOf({ listeners: 1 })
  subscribed.add('agent:start')
  assert.equal(events.emitsEvents({ platform: 'batch' }), false)
  events.observe({})
  assert.equal(events.emitsEvents({ platform: 'batch' }), true)
  assert.equal(events.emitsMessageEvents({ platform: 'batch' }), false)
})
