import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { conversation, rowsIn, waitForCommandReply } from './support.ts'

test('/new starts an empty session', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('my name is Ada')
  await gateway.waitForReply('my name is Ada')
  await gateway.say('/new')
  await waitForCommandReply(gateway)
  await gateway.say('who am I?')
  await gateway.waitForReply('You said: who am I?')
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: who am I?'])
})

test('/new cancels the running turn, which writes nothing more', async (t) => {
  const late = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    replies: [{ text: 'a late answer', gate: (frame) => (frame > 1 ? late.promise : Promise.resolve()) }],
  })
  await gateway.say('think long')
  await gateway.modelRequest(0)
  await gateway.say('/new')
  await waitForCommandReply(gateway)
  late.resolve()
  await gateway.say('fresh')
  await gateway.waitForReply('You said: fresh')
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: fresh'])
  assert.ok(!gateway.replies().some((text) => text.includes('late answer')))
  await gateway.stop()
  const lines = rowsIn(gateway.home, 'select session_id, role, content from messages order by id')
  assert.equal(new Set(lines.map((line) => line['session_id'])).size, 2)
  assert.ok(!lines.some((line) => String(line['content']).includes('late answer')))
  assert.deepEqual(
    rowsIn(gateway.home, `select state from turns order by started_at`).map(({ state }) => state),
    ['stopped', 'done'],
  )
})

test('messages queued before /new are answered in the new session', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'never', hang: 'stream', hangAfter: 2 }] })
  await gateway.say('hang')
  await gateway.modelRequest(0)
  await gateway.say('waiting')
  await gateway.say('/new')
  await gateway.waitForReply('You said: waiting')
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: waiting'])
})
