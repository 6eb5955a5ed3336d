import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, conversation, rowsIn, runCommand } from './support.ts'

const minutes = 60_000

/** Moves everything that was said into the past, as if this much time had passed since. */
function passTime({ home }: TestGateway, ms: number): void {
  const db = new DatabaseSync(home.databaseFile, { timeout: 5_000 })
  try {
    for (const table of ['lanes', 'sessions']) db.prepare(`update ${table} set updated_at = updated_at - ?`).run(ms)
  } finally {
    db.close()
  }
}

test('after a long pause a message begins a new conversation, and the user and the model are told so', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { session_reset: { mode: 'idle', idle_minutes: 30 } },
    replies: [{ text: 'first answer' }, { text: 'second answer' }, { text: 'third answer' }],
  })
  await gateway.say('one')
  await gateway.waitForReply('first answer')
  passTime(gateway, 31 * minutes)
  await gateway.say('two')
  await gateway.waitForReply('second answer')
  const [noted = '', ...others] = conversation(gateway.model.requests[1])
  assert.deepEqual(others, [])
  assert.match(noted, /^user: two\n\n\[.*reason: idle; last activity 31 min ago/)
  const notice = gateway.platform.shown().filter(({ key }) => key.startsWith('reset:'))
  assert.equal(notice.length, 1)
  // The system prompt says nothing about it.
  const systems = gateway.model.requests.map(({ body }) => at(body, 'messages', 0, 'content'))
  assert.equal(systems[0], systems[1])
  const of = (name: string) =>
    gateway.events.filter((event) => event.name === name).map(({ context }) => context['reason'])
  assert.deepEqual([of('session:end'), of('session:start')], [['idle'], [undefined, 'idle']])
  assert.deepEqual(
    rowsIn(gateway.home, 'select end_reason from sessions order by created_at').map(({ end_reason }) => end_reason),
    ['idle', null],
  )
  passTime(gateway, 29 * minutes)
  await gateway.say('three')
  await gateway.waitForReply('third answer')
  assert.equal(conversation(gateway.model.requests[2]).length, 3)
  assert.match(await runCommand(gateway, '/resume 1'), /one|first answer/)
})

test('a message that had to wait belongs to the conversation in which it was written', async (t) => {
  let now = Date.now()
  const gateway = await startTestGateway(t, {
    gateway: { clock: () => now },
    config: { session_reset: { mode: 'idle', idle_minutes: 60 } },
  })
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  await runCommand(gateway, '/pause')
  now += minutes
  await gateway.say('two')
  now += 90 * minutes
  await runCommand(gateway, '/pause off')
  await gateway.waitForReply('You said: two')
  assert.equal(conversation(gateway.model.requests[1]).length, 3)
  // Written before an outage, and delivered after it.
  now += 90 * minutes
  await gateway.say('three', { at: now - 85 * minutes })
  await gateway.waitForReply('You said: three')
  assert.equal(conversation(gateway.model.requests[2]).length, 5)
  // The platform gives no plausible time.
  now += 90 * minutes
  await gateway.say('four', { at: 0 })
  await gateway.waitForReply('You said: four')
  assert.equal(conversation(gateway.model.requests[3]).length, 1)
})

test('sessions never end by themselves unless the configuration says so', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  passTime(gateway, 1_000 * 24 * 60 * minutes)
  await gateway.say('two')
  await gateway.waitForReply('You said: two')
  assert.equal(conversation(gateway.model.requests[1]).length, 3)
})

test('a conversation with a command in the background goes on, and no notice is sent where none is wanted', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { session_reset: { mode: 'idle', idle_minutes: 30, notify_exclude_platforms: ['fake'] } },
    replies: [
      { toolCalls: [{ name: 'terminal', arguments: { command: 'sleep 60', background: true } }] },
      { text: 'it runs' },
      { text: 'still here' },
      { toolCalls: [{ name: 'process', arguments: { action: 'kill', id: 'proc_1' } }] },
      { text: 'ended it' },
      { text: 'a new start' },
    ],
  })
  await gateway.say('start the server')
  await gateway.waitForReply('it runs')
  passTime(gateway, 60 * minutes)
  await gateway.say('are you there?')
  await gateway.waitForReply('still here')
  assert.ok(conversation(gateway.model.requests[2]).length > 1)
  await gateway.say('end it')
  await gateway.waitForReply('ended it')
  passTime(gateway, 60 * minutes)
  await gateway.say('hello')
  await gateway.waitForReply('a new start')
  assert.equal(conversation(gateway.model.requests[5]).length, 1)
  assert.deepEqual(
    gateway.platform.shown().filter(({ key }) => key.startsWith('reset:')),
    [],
  )
})

test('words of reset_triggers mean /new', async (t) => {
  const gateway = await startTestGateway(t, { config: { reset_triggers: ['new chat'] } })
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  await gateway.say(' New Chat ')
  await gateway.waitForEvent('session:reset')
  await gateway.say('two')
  await gateway.waitForReply('You said: two')
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: two'])
})
