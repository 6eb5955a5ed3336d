/**
 * Every event that hooks may subscribe to is emitted, on each way that leads to it.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { brand } from '../../src/lib/brand.ts'
import { hookEventNames } from '../../src/message/hook-events.ts'
import { inboxFor } from '../inbox/support.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'

const seen = new Set<string>()

/** Notes what was emitted, and that no name is unknown. */
function note({ events }: Pick<TestGateway, 'events'>): void {
  for (const { name } of events) {
    seen.add(name)
    assert.ok(name.startsWith('command:') || hookEventNames.includes(name), name)
  }
}

function start(t: TestContext, options: Parameters<typeof startTestGateway>[1] = {}) {
  return startTestGateway(t, options)
}

test('the life of a gateway, a session and a turn', async (t) => {
  const gateway = await start(t, { abilities: ['edit'] })
  await gateway.say('hello', { user: 'ada' })
  await gateway.reply('You said: hello')
  await gateway.say('/new', { user: 'ada' })
  await gateway.reply('New conversation')
  const received = await gateway.event('message:received', { message: 'hello' })
  assert.equal(received.context['user_id'], 'ada')
  const sent = await gateway.event('message:sent', { message: 'You said: hello' })
  assert.deepEqual([sent.context['kind'], sent.context['session_key']], ['reply', received.context['session_key']])
  assert.notEqual(sent.context['message_id'], '')
  await gateway.event('message:sent', { kind: 'notice' })
  assert.equal(
    gateway.events.filter(({ context }) => context['message'] === 'You said: hello' && 'kind' in context).length,
    1,
  )
  await gateway.stop()
  note(gateway)
})

test('a stranger', async (t) => {
  const gateway = await start(t, { config: { platforms: { fake: { allow_from: ['ada'] } } } })
  await gateway.say('let me in', { user: 'eve' }).catch(() => undefined)
  const { context } = await gateway.event('message:refused', { user_id: 'eve' })
  assert.equal(context['message'], 'let me in')
  assert.notEqual(context['reason'], '')
  note(gateway)
})

test('a message that is delivered twice by its platform is told of once', async (t) => {
  const gateway = await start(t)
  await gateway.say('once', { id: 'm1' })
  await gateway.say('once', { id: 'm1' })
  await gateway.reply('You said: once')
  assert.equal(gateway.events.filter(({ name }) => name === 'message:received').length, 1)
})

test('an answer that the platform never takes', async (t) => {
  const gateway = await start(t, { config: { outbox: { max_tries: 1 } } })
  gateway.platform.failNext('rejected', { times: 5 })
  await gateway.say('hello')
  const { context } = await gateway.event('message:failed')
  assert.match(String(context['error']), /told to fail: rejected/)
  note(gateway)
})

test('a question: answered, asked anew, and left alone', async (t) => {
  const gateway = await start(t, { config: { approvals: { destructive_slash_confirm: true } } })
  await gateway.say('hello')
  await gateway.reply('You said: hello')
  await gateway.say('/new')
  const asked = await gateway.event('approval:requested', { kind: 'slash-confirm' })
  await gateway.say('/new')
  await gateway.event('approval:resolved', { approval_id: asked.context['approval_id'], outcome: 'replaced' })
  await gateway.say('/approve')
  await gateway.event('approval:resolved', { outcome: 'answered' })
  await gateway.event('session:reset')
  note(gateway)

  const hasty = await start(t, { config: { approvals: { destructive_slash_confirm: true, timeout: 0.05 } } })
  await hasty.say('/new')
  await hasty.event('approval:resolved', { outcome: 'expired', answer: '' })
})

test('a reaction, given and taken back', async (t) => {
  const gateway = await start(t)
  await gateway.say('hello', { id: 'm1' })
  await gateway.reply('You said: hello')
  await gateway.platform.react('m1', '👍')
  await gateway.event('reaction:added', { reaction: '👍' })
  note(gateway)

  const { inbox, emitted } = inboxFor(t)
  const source = { platform: 'chat', account: 'default', chatId: 'c', chatType: 'dm' as const, userId: 'u' }
  const change = {
    kind: 'reaction' as const,
    source,
    added: false,
    reaction: '👍',
    messageId: 'm1',
    timestamp: 1,
    raw: {},
  }
  await inbox.change(change, [brand('r1')])
  for (const { name } of emitted) seen.add(name)
})

test('no event is left that nothing emits', () => {
  assert.deepEqual(
    hookEventNames.filter((name) => !seen.has(name)),
    [],
  )
})
