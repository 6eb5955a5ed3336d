/**
 * Every event that hooks may subscribe to is emitted, on each way that leads to it.
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sampleContext } from '../../src/hooks/sample-contexts.ts'
import { brand } from '../../src/lib/ids.ts'
import { hookEventNames } from '../../src/message/hook-events.ts'
import { inboxFor } from '../inbox/support.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'

const seen = new Set<string>()

/** Notes what was emitted: no name is unknown, and each event has the keys that hooks are promised, no more and no less. */
function recordEvents({ events }: Pick<TestGateway, 'events'>): void {
  for (const { name, context } of events) {
    seen.add(name)
    assert.ok(name.startsWith('command:') || hookEventNames.includes(name), name)
    assert.deepEqual(keysOf(context), keysOf(sampleContext(name)), name)
  }
}

function keysOf(context: unknown): string[] {
  return typeof context === 'object' && context !== null ? Object.keys(context).sort() : []
}

/** What was told of one message or command, in order. */
function eventNames({ events }: Pick<TestGateway, 'events'>, ...families: string[]): string[] {
  return events.map(({ name }) => name).filter((name) => families.some((family) => name.startsWith(family)))
}

function start(t: TestContext, options: Parameters<typeof startTestGateway>[1] = {}) {
  return startTestGateway(t, options)
}

// One suite: its last test asks what the others have seen.
describe('hook events', () => {
  test('a turn emits the events of gateway, session and agent', async (t) => {
    const gateway = await start(t, { capabilities: ['edit'] })
    await gateway.say('hello', { user: 'ada' })
    await gateway.waitForReply('You said: hello')
    await gateway.say('/new', { user: 'ada' })
    await gateway.waitForReply('New conversation')
    const received = await gateway.waitForEvent('message:received', { message: 'hello' })
    assert.equal(received.context['user_id'], 'ada')
    const sent = await gateway.waitForEvent('message:sent', { message: 'You said: hello' })
    assert.deepEqual([sent.context['kind'], sent.context['session_key']], ['reply', received.context['session_key']])
    assert.notEqual(sent.context['message_id'], '')
    await gateway.waitForEvent('message:sent', { kind: 'notice' })
    assert.equal(
      gateway.events.filter(({ context }) => context['message'] === 'You said: hello' && 'kind' in context).length,
      1,
    )
    await gateway.stop()
    recordEvents(gateway)
  })

  test('compression emits session:compress', async (t) => {
    const text = 'many words '.repeat(300)
    const gateway = await start(t, {
      config: { context_length: 4_000, compression: { protect_last_n: 1 } },
      model: ({ lastUserText }) => ({ text: lastUserText.includes('Write the record') ? 'short' : text }),
    })
    for (let times = 0; times < 3; times++) {
      await gateway.say(text)
      await gateway.waitForEvent('agent:end')
    }
    const { context } = await gateway.waitForEvent('session:compress')
    assert.equal(context['in_place'], true)
    recordEvents(gateway)
  })

  test('a message of an unauthorised user emits message:refused', async (t) => {
    const gateway = await start(t, { config: { platforms: { fake: { allow_from: ['ada'] } } } })
    await gateway.say('let me in', { user: 'eve' }).catch(() => undefined)
    const { context } = await gateway.waitForEvent('message:refused', { user_id: 'eve' })
    assert.equal(context['message'], 'let me in')
    assert.notEqual(context['reason'], '')
    recordEvents(gateway)
  })

  test('a message that its platform delivers twice is emitted once', async (t) => {
    const gateway = await start(t)
    await gateway.say('once', { id: 'm1' })
    await gateway.say('once', { id: 'm1' })
    await gateway.waitForReply('You said: once')
    assert.equal(gateway.events.filter(({ name }) => name === 'message:received').length, 1)
  })

  test('an edited message that is answered again is emitted again', async (t) => {
    const gateway = await start(t, { config: { platforms: { fake: { edits: 'rerun' } } } })
    await gateway.say('one', { id: 'm1', user: 'ada' })
    await gateway.waitForReply('You said: one')
    await gateway.platform.edit('m1', 'two', { user: 'ada' })
    await gateway.waitForReply('You said: two')
    const received = gateway.events.filter(({ name }) => name === 'message:received')
    assert.deepEqual(
      received.map(({ context }) => [context['message'], context['user_id']]),
      [
        ['one', 'ada'],
        ['two', 'ada'],
      ],
    )
    assert.equal(received[0]?.context['session_key'], received[1]?.context['session_key'])
    recordEvents(gateway)
  })

  test('step numbers continue after a restart, with the tools of the step before', async (t) => {
    const gateway = await start(t, {
      replies: [
        { toolCalls: [{ name: 'terminal', arguments: { command: 'echo one' } }] },
        { toolCalls: [{ name: 'terminal', arguments: { command: 'echo two' } }] },
        { text: 'cut off here', hang: 'stream', hangAfter: 1 },
      ],
      model: () => ({ text: 'done' }),
    })
    await gateway.say('work')
    await gateway.modelRequest(2)
    await gateway.stop(AbortSignal.abort())
    await gateway.start()
    await gateway.waitForReply('done')
    const steps = gateway.events.filter(({ name }) => name === 'agent:step').map(({ context }) => context)
    assert.deepEqual(
      steps.map(({ iteration, tool_names }) => [iteration, tool_names]),
      [
        [1, []],
        [2, ['terminal']],
        [3, ['terminal']],
        [3, ['terminal']],
      ],
    )
    assert.deepEqual(steps[3]?.['tools'], steps[2]?.['tools'])
    assert.match(JSON.stringify(steps[3]?.['tools']), /two/)
    assert.equal(new Set(steps.map(({ session_id }) => session_id)).size, 1)
    recordEvents(gateway)
  })

  test('message:sent describes a streamed answer and one in parts as users see them', async (t) => {
    const long = `${'word '.repeat(1_500)}end`
    const gateway = await start(t, { capabilities: ['edit'], replies: [{ text: 'in a draft' }, { text: long }] })
    await gateway.say('one')
    await gateway.waitForEvent('message:sent', { message_full: 'in a draft', kind: 'reply' })
    await gateway.say('two')
    await gateway.waitForReply(/word end/)
    await gateway.stop()
    const sent = gateway.events.filter(({ name, context }) => name === 'message:sent' && context['kind'] === 'reply')
    const texts = sent.map(({ context }) => String(context['message_full']))
    assert.deepEqual(texts, ['in a draft', ...gateway.replies().slice(1)])
    assert.ok(texts.length > 2, 'it was to be cut into pieces')
    for (const { context } of sent) assert.ok([...String(context['message'])].length <= 500)
    recordEvents(gateway)
  })

  test('a turn that waits for its retry emits its end when /new cancels it', async (t) => {
    let poisoned = true
    const gateway = await start(t, {
      gateway: {
        // An unexpected error in the middle of the route.
        failpoint(point) {
          if (poisoned && point === 'agent:streaming') throw new TypeError('unexpected')
        },
      },
    })
    await gateway.say('poison', { user: 'ada' })
    await gateway.waitForLog('engine.worker_failed')
    poisoned = false
    await gateway.say('/new', { user: 'ada' })
    await gateway.waitForEvent('session:reset')
    await gateway.say('next', { user: 'ada' })
    await gateway.waitForReply('You said: next')
    const ends = gateway.events.filter(({ name, context }) => name === 'agent:end' && context['message'] === 'poison')
    const [begin] = gateway.events.filter(({ name }) => name === 'agent:start')
    assert.deepEqual(
      ends.map(({ context: { session_id, response } }) => [session_id, response]),
      [[begin?.context['session_id'], '']],
    )
    recordEvents(gateway)
  })

  test('an unknown command emits a message event, but no command and no turn', async (t) => {
    const gateway = await start(t)
    await gateway.say('/nonsense')
    await gateway.waitForReply('`/nonsense`')
    await gateway.stop()
    assert.deepEqual(eventNames(gateway, 'message:received', 'command:', 'agent:'), ['message:received'])
  })

  test('the answer to an approval is emitted before the command that gave it', async (t) => {
    const gateway = await start(t, { config: { approvals: { destructive_slash_confirm: true } } })
    for (const answer of ['deny', 'approve']) {
      await gateway.say('/new')
      await gateway.waitForEvent('approval:requested')
      await gateway.say(`/${answer}`)
      await gateway.waitForEvent(`command:${answer}`)
      const names = eventNames(gateway, 'approval:resolved', `command:${answer}`)
      assert.deepEqual(names.slice(-2), ['approval:resolved', `command:${answer}`])
    }
    await gateway.waitForEvent('session:reset')
    recordEvents(gateway)
  })

  test('an answer that the platform rejects', async (t) => {
    const gateway = await start(t, { config: { outbox: { max_tries: 1 } } })
    gateway.platform.failNext('rejected', { times: 5 })
    await gateway.say('hello')
    const { context } = await gateway.waitForEvent('message:failed')
    assert.match(String(context['error']), /rejected/)
    recordEvents(gateway)
  })

  test('an approval emits its events when it is answered, asked again, and times out', async (t) => {
    const gateway = await start(t, { config: { approvals: { destructive_slash_confirm: true } } })
    await gateway.say('hello')
    await gateway.waitForReply('You said: hello')
    await gateway.say('/new')
    const asked = await gateway.waitForEvent('approval:requested', { kind: 'slash-confirm' })
    await gateway.say('/new')
    await gateway.waitForEvent('approval:resolved', { approval_id: asked.context['approval_id'], outcome: 'replaced' })
    await gateway.say('/approve')
    await gateway.waitForEvent('approval:resolved', { outcome: 'answered' })
    await gateway.waitForEvent('session:reset')
    recordEvents(gateway)

    const hasty = await start(t, { config: { approvals: { destructive_slash_confirm: true, timeout: 0.05 } } })
    await hasty.say('/new')
    await hasty.waitForEvent('approval:resolved', { outcome: 'expired', answer: '' })
  })

  test('a reaction is added and removed', async (t) => {
    const gateway = await start(t)
    await gateway.say('hello', { id: 'm1' })
    await gateway.waitForReply('You said: hello')
    await gateway.platform.react('m1', '👍')
    await gateway.waitForEvent('reaction:added', { reaction: '👍' })
    recordEvents(gateway)

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

  test('every documented event is emitted', () => {
    assert.deepEqual(
      hookEventNames.filter((name) => !seen.has(name)),
      [],
    )
  })
})
