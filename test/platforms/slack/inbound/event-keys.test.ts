/**
 * Names of events: what happens twice has one name, what happens once has another.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ada, channel, direct, startSlackTest } from '../support.ts'

const mention = '<@U0BOT0001>'

test('the two events of a mention are accepted once', async (t) => {
  const { server, gateway } = await startSlackTest(t)
  await server.say(channel, ada, `${mention} hello`)
  const [first, second] = gateway.ingestedEvents
  assert.equal(gateway.ingestedEvents.length, 2)
  assert.equal(first?.keys[0], second?.keys[0])
  assert.match(first?.keys[0] ?? '', /^sl:T0TEAM001:C0GENERAL:\d+\.\d+$/)
  assert.match(first?.keys[1] ?? '', /^sl:ev:Ev/)
  assert.notEqual(first?.keys[1], second?.keys[1])
  assert.deepEqual([first?.accepted.status, second?.accepted.status], ['accepted', 'duplicate'])
})

test('edits, deletions and reactions have keys of the message and their own time', async (t) => {
  const { server, gateway, changeKeys } = await startSlackTest(t)
  const { workspace } = server
  const { ts } = await server.say(direct, ada, 'one')
  const name = gateway.ingestedEvents[0]?.keys[0]
  const edited = workspace.edit(direct, ts, { text: 'two' }, ada)
  await server.outcomeOf(edited)
  const reacted = workspace.react(direct, ts, ada, 'eyes', true)
  await server.outcomeOf(reacted)
  const removed = workspace.remove(direct, ts)
  await server.outcomeOf(removed)
  assert.deepEqual(changeKeys, [`${name}:e:${edited}`, `${name}:r:+eyes:${ada}:${reacted}`, `${name}:d:${removed}`])
})

test('a second account of a workspace has separate keys', async (t) => {
  const { server, gateway } = await startSlackTest(t, { account: 'second' })
  await server.say(direct, ada, 'hello')
  assert.match(gateway.ingestedEvents[0]?.keys[0] ?? '', /@second$/)
})

test('each message moves the cursor of its channel or thread', async (t) => {
  const { server, gateway } = await startSlackTest(t)
  const one = await server.say(direct, ada, 'one')
  assert.equal(gateway.marks.get(direct), one.ts)
  const two = await server.say(channel, ada, `${mention} two`)
  const three = await server.say(channel, ada, 'three', { thread_ts: two.ts })
  assert.equal(gateway.marks.get(`${channel}:${two.ts}`), three.ts)
})
