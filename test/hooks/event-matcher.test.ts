import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEventValidator, subscriptionsOf } from '../../src/hooks/event-names.ts'
import { createEventMatcher } from '../../src/hooks/registry.ts'

const aliases = new Map([['command:reset', 'command:new']])
const canonical = (event: string) => aliases.get(event) ?? event

test('exact subscriptions come first in their order, then those of the family', () => {
  const match = createEventMatcher([
    { listener: 'all', events: ['command:*'] },
    { listener: 'one', events: ['command:new'] },
    { listener: 'two', events: ['agent:end', 'command:new'] },
    { listener: 'also', events: ['command:*'] },
  ])
  assert.deepEqual(match('command:new'), ['one', 'two', 'all', 'also'])
  assert.deepEqual(match('command:stop'), ['all', 'also'])
  assert.deepEqual(match('agent:end'), ['two'])
  assert.deepEqual(match('agent:start'), [])
  assert.deepEqual(match('command:new'), ['one', 'two', 'all', 'also'], 'the second time as the first')
})

test('an event without a colon has no family, and there is no wildcard for all events', () => {
  const match = createEventMatcher([
    { listener: 'bare', events: ['agent'] },
    { listener: 'star', events: ['*'] },
    { listener: 'family', events: ['agent:*'] },
  ])
  assert.deepEqual(match('agent:start'), ['family'])
  assert.deepEqual(match('agent'), ['bare'])
  assert.deepEqual(match('agent:sub:part'), ['family'], 'the first colon counts')
})

test('a hook that subscribes to an event and to its family receives it twice', () => {
  const match = createEventMatcher([{ listener: 'both', events: ['command:*', 'command:new'] }])
  assert.deepEqual(match('command:new'), ['both', 'both'])
})

test('a subscription to an alias of a command is one subscription to the command', () => {
  assert.deepEqual(subscriptionsOf(['command:reset'], canonical), ['command:new'])
  assert.deepEqual(subscriptionsOf(['command:reset', 'command:new', 'command:reset'], canonical), ['command:new'])
  assert.deepEqual(subscriptionsOf(['agent:end', 'agent:end'], canonical), ['agent:end', 'agent:end'])
})

test('an unknown event is reported with the closest known name', () => {
  const issueOf = createEventValidator(['agent:start', 'agent:end', 'session:start', 'command:new'])
  assert.equal(issueOf('agent:end'), undefined)
  assert.equal(issueOf('command:*'), undefined)
  assert.equal(issueOf('agent:ends'), 'unknown event "agent:ends"; did you mean agent:end?')
  assert.equal(issueOf('agent'), 'unknown event "agent"; did you mean agent:*?')
  assert.equal(issueOf('agents:*'), 'unknown event "agents:*"; did you mean agent:*?')
  assert.equal(issueOf('on_message'), 'unknown event "on_message"')
})
