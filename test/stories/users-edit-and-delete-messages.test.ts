import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { conversation, rowsIn, waitForCommandReply } from './support.ts'

/** Starts a gateway whose model responds to `busy` after `release`. */
async function busy(t: Parameters<typeof startTestGateway>[0], options: TestGatewayOptions = {}) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, { replies: [{ text: 'done', gate: () => promise }], ...options })
  await gateway.say('busy')
  await gateway.modelRequest(0)
  return { gateway, release: resolve }
}

function rerun(edits: 'rerun' | 'ignore'): TestGatewayOptions {
  return { config: { platforms: { fake: { edits } } } }
}

function traceEvents({ home }: TestGateway): unknown[] {
  return rowsIn(home, 'select event from trace order by id').map(({ event }) => event)
}

test('a queued message that is edited is answered once, in its edited form', async (t) => {
  const { gateway, release } = await busy(t)
  await gateway.say('what is 2 + 2?', { id: 'm1' })
  await gateway.platform.edit('m1', 'what is 3 + 3?')
  release()
  await gateway.waitForReply('You said: what is 3 + 3?')
  assert.deepEqual(gateway.replies(), ['done', 'You said: what is 3 + 3?'])
})

test('an edit after the reply does not change the session', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('one', { id: 'm1' })
  await gateway.waitForReply('You said: one')
  await gateway.platform.edit('m1', 'one, edited')
  await gateway.say('two')
  await gateway.waitForReply('You said: two')
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: one', 'assistant: You said: one', 'user: two'])
  assert.deepEqual(traceEvents(gateway), ['message:edited'])
})

test('with `edits: rerun` an edited message is answered again in the same session', async (t) => {
  const gateway = await startTestGateway(t, rerun('rerun'))
  await gateway.say('one', { id: 'm1' })
  await gateway.waitForReply('You said: one')
  await gateway.platform.edit('m1', 'two')
  await gateway.waitForReply('You said: two')
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: one', 'assistant: You said: one', 'user: two'])
})

test('with `edits: ignore` an edit is ignored', async (t) => {
  const { gateway, release } = await busy(t, rerun('ignore'))
  await gateway.say('one', { id: 'm1' })
  await gateway.platform.edit('m1', 'two')
  release()
  await gateway.waitForReply('You said: one')
})

test('a queued message that is deleted is not answered', async (t) => {
  const { gateway, release } = await busy(t)
  await gateway.say('oh no', { id: 'm1' })
  await gateway.say('this one', { id: 'm2' })
  await gateway.platform.remove('m1')
  release()
  await gateway.waitForReply('You said: this one')
  assert.deepEqual(gateway.replies(), ['done', 'You said: this one'])
  assert.deepEqual(traceEvents(gateway), ['message:deleted'])
})

test('a queued message that is edited to /stop stops the running turn', async (t) => {
  const { gateway } = await busy(t)
  await gateway.say('please stop', { id: 'm1' })
  await gateway.platform.edit('m1', '/stop')
  await waitForCommandReply(gateway)
  await gateway.say('and now?')
  await gateway.waitForReply('and now?')
  assert.deepEqual(conversation(gateway.model.requests[1]), [
    'user: busy',
    'assistant: [stopped by the user]',
    'user: and now?',
  ])
})

test('edits, deletions and reactions of an unauthorised user are ignored', async (t) => {
  const { gateway, release } = await busy(t, { config: { platforms: { fake: { allow_from: ['user'] } } } })
  await gateway.say('mine', { id: 'm1' })
  await gateway.platform.edit('m1', 'his', { user: 'stranger' })
  await gateway.platform.remove('m1', { user: 'stranger' })
  await gateway.platform.react('m1', '👎', { user: 'stranger' })
  release()
  await gateway.waitForReply('You said: mine')
  assert.deepEqual(
    gateway.events.filter(({ name }) => name.startsWith('reaction')),
    [],
  )
})

test('reactions emit events with exactly the documented keys', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('hello', { id: 'm1' })
  await gateway.platform.react('m1', '👍', { user: 'ada' })
  const { context } = await gateway.waitForEvent('reaction:added', {
    platform: 'fake',
    user_id: 'ada',
    message_ts: 'm1',
  })
  assert.deepEqual(Object.keys(context).sort(), [
    'channel_id',
    'event_ts',
    'item_type',
    'item_user_id',
    'message_ts',
    'platform',
    'raw_event',
    'reaction',
    'team_id',
    'user_id',
  ])
  assert.equal(context['reaction'], '👍')
  await gateway.waitForReply('You said: hello')
  assert.equal(gateway.model.requestCount, 1)
})
