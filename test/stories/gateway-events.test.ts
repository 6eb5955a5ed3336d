import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RecordedEvent, startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, waitForCommandReply } from './support.ts'

/** The documented keys of each event. */
const keys: Readonly<Record<string, readonly string[]>> = {
  'gateway:startup': ['platforms'],
  'gateway:shutdown': ['platforms'],
  'session:start': ['platform', 'session_id', 'session_key', 'user_id'],
  'session:end': ['platform', 'reason', 'session_key', 'user_id'],
  'session:reset': ['platform', 'session_key', 'user_id'],
  'agent:start': [
    'chat_id',
    'chat_type',
    'message',
    'message_full',
    'platform',
    'session_id',
    'session_key',
    'thread_id',
    'user_id',
  ],
  'agent:step': ['iteration', 'platform', 'session_id', 'tool_names', 'tools', 'user_id'],
  'agent:end': [
    'chat_id',
    'chat_type',
    'message',
    'message_full',
    'model',
    'platform',
    'provider',
    'response',
    'response_full',
    'session_id',
    'session_key',
    'thread_id',
    'user_id',
  ],
  'message:received': [
    'chat_id',
    'chat_type',
    'message',
    'message_full',
    'message_id',
    'platform',
    'session_key',
    'thread_id',
    'user_id',
  ],
  'message:sent': ['chat_id', 'kind', 'message', 'message_full', 'message_id', 'platform', 'session_key', 'thread_id'],
  'command:new': ['args', 'command', 'platform', 'raw_args', 'raw_command', 'user_id'],
  'command:stop': ['args', 'command', 'platform', 'raw_args', 'raw_command', 'user_id'],
}

function checkKeys(events: readonly RecordedEvent[]): void {
  for (const { name, context } of events) assert.deepEqual(Object.keys(context).sort(), keys[name], name)
}

/** Names of events without message events, whose order depends on the platform. */
function names({ events }: Pick<TestGateway, 'events'>): string[] {
  return events.map(({ name }) => name).filter((name) => !name.startsWith('message:'))
}

test('a turn with a tool, a reset and a stop emit events in order, with exactly the documented keys', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ toolCalls: [{ name: 'terminal', arguments: { command: 'echo found it' } }] }, { text: 'the answer' }],
  })
  const long = `${'🙂'.repeat(600)}`
  await gateway.say(long, { user: 'ada', chat: 'g1', chatType: 'group' })
  await gateway.waitForReply('the answer')
  await gateway.say('/reset Taxes', { user: 'ada', chat: 'g1', chatType: 'group' })
  await gateway.waitForReply('New conversation: Taxes')
  await gateway.say('again', { user: 'ada', chat: 'g1', chatType: 'group' })
  await gateway.waitForReply('You said: again')
  await gateway.stop()

  checkKeys(gateway.events)
  assert.deepEqual(names(gateway), [
    'gateway:startup',
    'session:start',
    'agent:start',
    'agent:step',
    'agent:step',
    'agent:end',
    'session:end',
    'session:reset',
    'command:new',
    'session:start',
    'agent:start',
    'agent:step',
    'agent:end',
    'gateway:shutdown',
  ])
  const of = (name: string, index = 0) => gateway.events.filter((event) => event.name === name)[index]?.context ?? {}
  assert.deepEqual(of('gateway:startup')['platforms'], ['acp', 'api_server', 'batch', 'cli', 'fake', 'web'])
  assert.deepEqual(of('gateway:shutdown')['platforms'], ['acp', 'api_server', 'batch', 'cli', 'fake', 'web'])
  const { message, message_full, chat_id, thread_id, chat_type, platform, user_id } = of('agent:start')
  assert.deepEqual([...String(message)].length, 500)
  assert.equal(message_full, long)
  assert.deepEqual(
    { chat_id, thread_id, chat_type, platform, user_id },
    {
      chat_id: 'g1',
      thread_id: '',
      chat_type: 'group',
      platform: 'fake',
      user_id: 'ada',
    },
  )
  const { iteration, tool_names, tools } = of('agent:step', 1)
  assert.deepEqual([iteration, tool_names], [2, ['terminal']])
  assert.match(JSON.stringify(tools), /"name":"terminal","result":".*found it/)
  const { response, response_full, model, provider } = of('agent:end')
  assert.deepEqual([response, response_full, model, provider], ['the answer', 'the answer', 'test-model', 'openai'])
  const { command, args, raw_command, raw_args } = of('command:new')
  assert.deepEqual([command, args, raw_command, raw_args], ['new', 'Taxes', 'reset', 'Taxes'])
  assert.notEqual(of('session:start')['session_id'], of('session:start', 1)['session_id'])
  assert.equal(of('session:start')['session_key'], of('session:start', 1)['session_key'])
})

test('a failed turn and a stopped turn emit agent:end', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ error: { status: 401 } }, { text: 'one two three four', hang: 'stream', hangAfter: 3 }],
  })
  await gateway.say('fail')
  await gateway.waitForReply(/\([a-z]+\/[a-z-]+\)/)
  await gateway.say('hang')
  await gateway.modelRequest(1)
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  checkKeys(gateway.events)
  const turnEvents = names(gateway).filter((name) => !name.startsWith('gateway:'))
  assert.deepEqual(turnEvents.slice(0, 4), ['session:start', 'agent:start', 'agent:step', 'agent:end'])
  assert.deepEqual(turnEvents.slice(4).sort(), ['agent:end', 'agent:start', 'agent:step', 'command:stop'])
  const [failed, stopped] = gateway.events.filter(({ name }) => name === 'agent:end')
  assert.match(String(failed?.context['response_full']), /provider\/auth/)
  assert.match(String(stopped?.context['response_full']), /\(stopped\)|^$/)
})

test('a turn that resumes after a stop emits a second agent:start and one agent:end', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'cut off', hang: 'stream', hangAfter: 2 }] })
  await gateway.say('a long question')
  await gateway.modelRequest(0)
  await gateway.stop(AbortSignal.abort())
  assert.deepEqual(names(gateway), [
    'gateway:startup',
    'session:start',
    'agent:start',
    'agent:step',
    'gateway:shutdown',
  ])
  await gateway.start()
  await gateway.waitForEvent('agent:end')
  checkKeys(gateway.events)
  const second = names(gateway)
    .slice(5)
    .filter((name) => !name.startsWith('gateway:'))
  assert.deepEqual(second, ['agent:start', 'agent:step', 'agent:end'])
  await gateway.waitForReply('You said: a long question')
  assert.deepEqual(gateway.replies(), ['You said: a long question'])
})

test('messages of the terminal emit no events', async (t) => {
  const gateway = await startTestGateway(t)
  for (const [id, text] of Object.entries({ one: 'hello', two: '/new' })) {
    const accepted = await gateway.post('/cli/messages', { chat: 'terminal', id, text })
    assert.equal(accepted.status, 202)
    const result = await gateway.http(`/cli/outcome?seq=${at(await accepted.json(), 'seq')}`)
    assert.equal(at(await result.json(), 'status'), 'done')
  }
  await gateway.stop()
  assert.deepEqual(names(gateway), ['gateway:startup', 'gateway:shutdown'])
})

test('messages of the web page and the API emit events', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.post('/web/messages', { chat: 'page', id: 'message-1', text: 'hello' })
  await gateway.waitForEvent('agent:end', { platform: 'web', user_id: 'owner', chat_id: 'page' })
  await gateway.post('/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }] })
  await gateway.waitForEvent('agent:end', { platform: 'api_server', user_id: 'api' })
})
