import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { conversation, rowsIn, waitForCommandReply, waitForQuestion } from './support.ts'

const confirm = { approvals: { destructive_slash_confirm: true } }

test('/new asks with buttons; a press answers, removes the buttons and starts a new session', async (t) => {
  const gateway = await startTestGateway(t, { config: confirm, capabilities: ['edit', 'buttons'] })
  await gateway.say('my name is Ada')
  await gateway.waitForReply('my name is Ada')
  await gateway.say('/new Taxes', { id: 'the command' })
  const question = await waitForQuestion(gateway)
  assert.deepEqual(
    question.buttons.map(({ label }) => label),
    ['Approve once', 'Always approve', 'Cancel'],
  )
  assert.doesNotMatch(question.text, /\/approve/)
  assert.equal(rowsIn(gateway.home, 'select state from questions')[0]?.['state'], 'waiting')
  await gateway.say('/status')
  await waitForCommandReply(gateway, '`/new`')

  assert.equal((await gateway.platform.press(question, 'Approve once')).status, 'taken')
  await waitForCommandReply(gateway, 'Taxes')
  await gateway.until(({ id, text }) => id === question.id && text.endsWith('**Approve once** — user'))
  assert.deepEqual(question.buttons, [])
  assert.equal(gateway.events.filter(({ name }) => name === 'command:new').length, 1)

  await gateway.say('who am I?')
  await gateway.waitForReply('You said: who am I?')
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: who am I?'])
  assert.equal(gateway.replies().filter((text) => text.includes('Taxes')).length, 1)
})

test('Cancel keeps the session', async (t) => {
  const gateway = await startTestGateway(t, { config: confirm, capabilities: ['edit', 'buttons'] })
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  await gateway.say('/reset')
  const question = await waitForQuestion(gateway)
  assert.equal((await gateway.platform.press(question, 'Cancel')).text, 'Cancelled.')
  await gateway.until(({ text }) => text.includes('**Cancel** — user'))
  await gateway.say('two')
  await gateway.waitForReply('You said: two')
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: one', 'assistant: You said: one', 'user: two'])
})

test('Always is remembered for this session only, also after a restart', async (t) => {
  const gateway = await startTestGateway(t, { config: confirm, capabilities: ['edit', 'buttons'] })
  await gateway.say('/new')
  await gateway.platform.press(await waitForQuestion(gateway), 'Always approve')
  await waitForCommandReply(gateway)
  await gateway.stop()
  await gateway.start()
  await gateway.say('/new second')
  await waitForCommandReply(gateway, 'second')
  await gateway.say('/new third', { chat: 'another' })
  await waitForQuestion(gateway, 'another')
})

test('in a group only the user who was asked may press', async (t) => {
  const gateway = await startTestGateway(t, { config: confirm, capabilities: ['edit', 'buttons'] })
  await gateway.say('/new', { chat: 'group', chatType: 'group', user: 'ada' })
  const question = await waitForQuestion(gateway, 'group')
  const asBob = { chatType: 'group' as const, user: 'bob' }
  assert.equal((await gateway.platform.press(question, 'Approve once', asBob)).status, 'refused')
  assert.equal(question.buttons.length, 3)
  const accepted = await gateway.platform.press(question, 'Approve once', { chatType: 'group', user: 'ada' })
  assert.equal(accepted.status, 'taken')
  await waitForCommandReply(gateway, '', 'group')
})

test('in a shared thread every member may press', async (t) => {
  // A guest could not end the conversation of the others.
  const config = { ...confirm, roles: { members: ['fake:ada', 'fake:bob'] } }
  const gateway = await startTestGateway(t, { config, capabilities: ['edit', 'buttons'] })
  const thread = { chat: 'group', chatType: 'group', thread: '7' } as const
  await gateway.say('/new', { ...thread, user: 'ada' })
  const question = await waitForQuestion(gateway, 'group')
  assert.equal(question.thread, '7')
  await gateway.platform.press(question, 'Approve once', { ...thread, user: 'bob' })
  const edited = await gateway.until(({ text }) => text.endsWith('**Approve once** — bob'))
  assert.equal(edited.id, question.id)
})

test('without buttons the question lists commands, and /approve or /deny answers it', async (t) => {
  const gateway = await startTestGateway(t, { config: confirm })
  await gateway.say('/new Taxes')
  const question = await gateway.waitForReply('- `/approve`: Approve once')
  assert.match(question.text, /- `\/deny`: Cancel$/)
  await gateway.say('/approve')
  await waitForCommandReply(gateway, 'Taxes')
  await gateway.say('/approve')
  await gateway.waitForReply('There is no open question in this session.')
  await gateway.say('/new Garden')
  await gateway.until(({ key, id }) => key.startsWith('question:') && id !== question.id)
  await gateway.say('/deny')
  await gateway.waitForReply('Cancelled.')
  assert.equal(question.versions.length, 1, 'a question without buttons is not edited')
  assert.ok(!gateway.replies().some((text) => text.includes('Garden')))
})

test('an unanswered question expires, also at the next start, and a late press is stale', async (t) => {
  const gateway = await startTestGateway(t, { config: confirm, capabilities: ['edit', 'buttons'] })
  await gateway.say('/new')
  const question = await waitForQuestion(gateway)
  const { buttons } = question
  await gateway.stop()
  const db = new DatabaseSync(gateway.home.databaseFile)
  db.exec('update questions set expires_at = 1')
  db.close()
  await gateway.start()
  await gateway.until(
    ({ id, buttons: current, versions }) => id === question.id && current.length === 0 && versions.length > 1,
  )
  assert.deepEqual(question.buttons, [])
  const late = await gateway.platform.press({ ...question, buttons }, 'Approve once')
  assert.equal(late.status, 'stale')
  assert.ok(!gateway.replies().some((text) => text.includes('✨')))
})

test('an accepted press takes effect after a restart', async (t) => {
  const questionAnswered = Promise.withResolvers<void>()
  let crashed = false
  const gateway = await startTestGateway(t, {
    config: confirm,
    capabilities: ['edit', 'buttons'],
    gateway: {
      failpoint(point) {
        // From here on this process does nothing more, so that the work remains for the next one.
        if (point === 'command:claimed' && crashed) throw new Error('crashed')
        if (point !== 'question:answered' || crashed) return
        crashed = true
        questionAnswered.resolve()
      },
    },
  })
  await gateway.say('/new Taxes')
  const question = await waitForQuestion(gateway)
  assert.equal((await gateway.platform.press(question, 'Approve once')).status, 'taken')
  await questionAnswered.promise
  await gateway.stop()
  assert.ok(!gateway.replies().some((text) => text.includes('✨')))
  await gateway.start({ failpoint: () => undefined })
  await waitForCommandReply(gateway, 'Taxes')
})

test('without the setting no question is asked', async (t) => {
  const gateway = await startTestGateway(t, { capabilities: ['edit', 'buttons'] })
  await gateway.say('/new')
  await waitForCommandReply(gateway)
  assert.equal(gateway.platform.shown().length, 1)
})

test('/approve that follows its command at once waits for the question of that command', async (t) => {
  const gateway = await startTestGateway(t, { config: confirm })
  await Promise.all([gateway.say('/whoami'), gateway.say('/new Garden'), gateway.say('/approve')])
  await waitForCommandReply(gateway, 'Garden')
  assert.ok(!gateway.replies().includes('There is no open question in this session.'))
})
