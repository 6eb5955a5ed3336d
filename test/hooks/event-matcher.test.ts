import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEventValidator, subscriptionsOf } from '../../src/hooks/event-names.ts'
import { createEventMatcher } from '../../src/hooks/registry.ts'

const aliases = new Map([['command:reset', 'command:new']])
const canonical = (event: string) => aliases.get(event) ?? event

test('exact subscriptions come first in their order, then those of the whole family', () => {
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

test('a name without a colon is no family, and there is no star for everything', () => {
  const match = createEventMatcher([
    { listener: 'bare', events: ['agent'] },
    { listener: 'star', events: ['*'] },
    { listener: 'family', events: ['agent:*'] },
  ])
  assert.deepEqual(match('agent:start'), ['family'])
  assert.deepEqual(match('agent'), ['bare'])
  assert.deepEqual(match('agent:sub:part'), ['family'], 'the first colon counts')
})

test('a hook that wants an event and its family hears it twice', () => {
  const match = createEventMatcher([{ listener: 'both', events: ['command:*', 'command:new'] }])
  assert.deepEqual(match('command:new'), ['both', 'both'])
})

test('a subscription to an alias is one to the command, once', () => {
  assert.deepEqual(subscriptionsOf(['command:reset'], canonical), ['command:new'])
  assert.deepEqual(subscriptionsOf(['command:reset', 'command:new', 'command:reset'], canonical), ['command:new'])
  assert.deepEqual(subscriptionsOf(['agent:end', 'agent:end'], canonical), ['agent:end', 'agent:end'])
})

test('names that are no one’s lead to the nearest that is', () => {
  const doubtAbout = createEventValidator(['agent:start', 'agent:end', 'session:start', 'command:new'])
  assert.equal(doubtAbout('agent:end'), undefined)
  assert.equal(doubtAbout('command:*'), undefined)
  assert.equal(doubtAbout('agent:ends'), 'no event is called "agent:ends"; did you mean agent:end?')
  assert.equal(doubtAbout('agent'), 'no event is called "agent"; did you mean agent:*?')
  assert.equal(doubtAbout('agents:*'), 'no event is called "agents:*"; did you mean agent:*?')
  assert.equal(doubtAbout('on_message'), 'no event is called "on_message"')
})
