import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, conversation, rowsIn, runCommand } from './support.ts'

async function exchange(gateway: TestGateway, text: string, options = {}): Promise<void> {
  await gateway.say(text, options)
  await gateway.waitForReply(`You said: ${text}`)
}

function lastRequest(gateway: TestGateway): string[] {
  return conversation(gateway.model.requests.at(-1))
}

const roles = { owners: ['fake:boss'], members: ['fake:mia'] }
const room = { chat: 'room', chatType: 'group' as const }

const sessionIds = (gateway: TestGateway) =>
  rowsIn(gateway.home, 'select id from sessions order by created_at, id').map(({ id }) => String(id))

test('/resume continues an earlier conversation with everything that was said in it', async (t) => {
  const gateway = await startTestGateway(t)
  await exchange(gateway, 'my name is Ada')
  assert.match(await runCommand(gateway, '/title a\u202eb'), /a\\u202eb/)
  assert.match(await runCommand(gateway, '/title Names'), /Names/)
  await runCommand(gateway, '/new')
  await exchange(gateway, 'something else')
  assert.match(await runCommand(gateway, '/sessions'), /1\. Names/)
  assert.match(await runCommand(gateway, '/resume names'), /Names/)
  await exchange(gateway, 'who am I?')
  assert.deepEqual(lastRequest(gateway), [
    'user: my name is Ada',
    'assistant: You said: my name is Ada',
    'user: who am I?',
  ])
  assert.match(await runCommand(gateway, '/resume 1'), /something else/)
  // A number that the list does not have may be a part of a name.
  await runCommand(gateway, '/title Taxes 2026')
  await runCommand(gateway, '/resume names')
  assert.match(await runCommand(gateway, '/resume 2026'), /Taxes 2026/)
  await exchange(gateway, 'and now?')
  assert.equal(lastRequest(gateway)[0], 'user: something else')
  const ends = gateway.events.filter(({ name }) => name === 'session:end').map(({ context }) => context['reason'])
  assert.deepEqual(ends, ['new', 'resume', 'resume', 'resume', 'resume'])
})

test('/resume may be the first message of a chat', async (t) => {
  const gateway = await startTestGateway(t)
  await exchange(gateway, 'my name is Ada')
  const [first = ''] = sessionIds(gateway)
  await runCommand(gateway, '/new')
  assert.match(await runCommand(gateway, `/resume ${first}`, { chat: 'elsewhere' }), /Ada/)
  await gateway.say('who am I?', { chat: 'elsewhere' })
  await gateway.waitForReply('You said: who am I?', 'elsewhere')
  assert.equal(lastRequest(gateway)[0], 'user: my name is Ada')
})

test('what a reply withholds is withheld when the conversation is listed, continued and taken back', async (t) => {
  let token = ''
  const gateway = await startTestGateway(t, {
    model: ({ lastUserText }) => ({ text: `${lastUserText} ${'y'.repeat(150)} ${token}` }),
  })
  token = gateway.current().token()
  const shown: string[] = []
  const run = async (text: string) => void shown.push(await runCommand(gateway, text))
  for (const before of ['', 'z'.repeat(60), 'z'.repeat(260)]) {
    await gateway.say(`${before} ${token}`)
    await gateway.waitForReply(/\[withheld/)
    await run(`/title ${'t'.repeat(170)}${token}`)
    for (const command of ['/branch', '/sessions', '/undo', '/resume 1', '/new']) await run(command)
  }
  assert.match(shown.join('\n'), /withheld: a secret of this gateway/)
  const pieces = Array.from({ length: token.length - 7 }, (_, at) => token.slice(at, at + 8))
  for (const text of shown)
    for (const piece of pieces) {
      assert.ok(!text.includes(piece), text)
      assert.ok(!text.includes(piece.replace(/_/g, '')) || piece.replace(/_/g, '').length < 6, text)
    }
})

test('a person neither sees nor opens the conversations of another person, also not by id', async (t) => {
  const gateway = await startTestGateway(t)
  const ada = { user: 'ada', chat: 'ada-dm' }
  const bob = { user: 'bob', chat: 'bob-dm' }
  await exchange(gateway, 'the secret of Ada', ada)
  await runCommand(gateway, '/new', ada)
  await exchange(gateway, 'a note of Bob', bob)
  await runCommand(gateway, '/new', bob)
  const [adas = ''] = sessionIds(gateway)
  assert.doesNotMatch(await runCommand(gateway, '/sessions', bob), /secret/)
  for (const wanted of [adas, 'the secret of Ada', 'secret', '2'])
    assert.doesNotMatch(await runCommand(gateway, `/resume ${wanted}`, bob), /secret|Continues/)
  // Nor in a group in which both write.
  const group = { chat: 'g1', chatType: 'group' as const }
  await exchange(gateway, 'hello from Ada', { ...group, user: 'ada' })
  await runCommand(gateway, '/new', { ...group, user: 'ada' })
  assert.doesNotMatch(await runCommand(gateway, '/sessions', { ...group, user: 'ada' }), /secret/)
  assert.doesNotMatch(await runCommand(gateway, '/sessions', { ...group, user: 'bob' }), /hello|secret/)
  assert.doesNotMatch(await runCommand(gateway, `/resume ${adas}`, { ...group, user: 'ada' }), /secret|Continues/)
  assert.match(await runCommand(gateway, `/resume ${adas}`, ada), /the secret of Ada/)
})

test('a command that a stop ends before it has done anything runs at the next start', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('/sessions')
  // Its thread needs longer to start.
  await gateway.stop(AbortSignal.abort())
  await gateway.start()
  await gateway.waitForReply(/no earlier conversations/)
  assert.equal(gateway.replies('chat').length, 1)
})

test('/undo takes exchanges back, and nothing of them is deleted', async (t) => {
  const gateway = await startTestGateway(t)
  for (const text of ['one', 'two', 'three']) await exchange(gateway, text)
  assert.match(await runCommand(gateway, '/undo 2'), /“two”/)
  await exchange(gateway, 'four')
  assert.deepEqual(lastRequest(gateway), ['user: one', 'assistant: You said: one', 'user: four'])
  const rows = rowsIn(gateway.home, 'select content, superseded from messages order by id')
  assert.deepEqual(
    rows.filter(({ superseded }) => superseded === -2).map(({ content }) => content),
    ['two', 'You said: two', 'three', 'You said: three'],
  )
  await runCommand(gateway, '/undo 50')
  assert.match(await runCommand(gateway, '/undo'), /nothing/)
  assert.match(await runCommand(gateway, '/undo never'), /number/)
})

test('/undo stops the running turn and takes its message back', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'never said', hang: 'stream', hangAfter: 2 }] })
  await gateway.say('hang')
  await gateway.modelRequest(0)
  assert.match(await runCommand(gateway, '/undo'), /“hang”/)
  await exchange(gateway, 'fresh')
  assert.deepEqual(lastRequest(gateway), ['user: fresh'])
})

test('/retry answers the last message again, without the first answer', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [{ text: 'hello' }, { text: 'a bad answer' }, { text: 'a good answer' }],
  })
  await gateway.say('hi')
  await gateway.waitForReply('hello')
  await gateway.say('a question')
  await gateway.waitForReply('a bad answer')
  await runCommand(gateway, '/retry')
  await gateway.waitForReply('a good answer')
  assert.deepEqual(lastRequest(gateway), ['user: hi', 'assistant: hello', 'user: a question'])
  await exchange(gateway, 'next')
  assert.deepEqual(lastRequest(gateway).slice(2), ['user: a question', 'assistant: a good answer', 'user: next'])
})

test('/retry sends a message again whose turn failed', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'hello' }, { error: { status: 400 } }] })
  await gateway.say('hi')
  await gateway.waitForReply('hello')
  await gateway.say('a question')
  await gateway.waitForReply(/provider\//)
  await runCommand(gateway, '/retry')
  await gateway.waitForReply('You said: a question')
  assert.deepEqual(lastRequest(gateway), ['user: hi', 'assistant: hello', 'user: a question'])
})

test('in a shared conversation only the author of a message can have it answered again', async (t) => {
  const gateway = await startTestGateway(t, { config: { group_sessions_per_user: false } })
  const group = { chat: 'g1', chatType: 'group' as const }
  assert.match(await runCommand(gateway, '/retry', { ...group, user: 'bob' }), /nothing/)
  await gateway.say('do it', { ...group, user: 'ada' })
  await gateway.waitForReply('do it')
  assert.match(await runCommand(gateway, '/retry', { ...group, user: 'bob' }), /author/)
  assert.equal(gateway.model.requests.length, 1)
  assert.match(await runCommand(gateway, '/retry', { ...group, user: 'ada' }), /Once more/)
  await gateway.modelRequest(1)
})

test('a message whose author is not stored any more runs with the rights of no other person', async (t) => {
  const gateway = await startTestGateway(t, { config: { roles, group_sessions_per_user: false } })
  await gateway.say('delete everything', { ...room, user: 'mia' })
  await gateway.waitForReply('delete everything')
  await gateway.stop()
  const database = new DatabaseSync(gateway.home.databaseFile)
  // The retention deletes the same rows.
  database.exec('pragma foreign_keys = off; delete from turn_inputs; delete from inbox_keys; delete from inbox')
  database.close()
  await gateway.start()
  assert.match(await runCommand(gateway, '/retry', { ...room, user: 'boss' }), /who wrote/)
  assert.match(await runCommand(gateway, '/undo', { ...room, user: 'mia' }), /unknown person/)
  assert.equal(gateway.model.requests.length, 1)
  assert.match(await runCommand(gateway, '/undo', { ...room, user: 'boss' }), /message of an unknown person,/)
})

test('/retry answers in the chat in which it is written, also after /resume', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { roles },
    replies: [{ text: 'a' }, { text: 'b' }, { text: 'c' }],
  })
  const one = { user: 'mia', chat: 'one' }
  const two = { user: 'mia', chat: 'two' }
  await gateway.say('first question', one)
  await gateway.waitForReply('a', 'one')
  await runCommand(gateway, '/new', one)
  await gateway.say('hi', two)
  await gateway.waitForReply('b', 'two')
  await runCommand(gateway, '/resume first', two)
  await gateway.say('/retry', { ...two, id: 'asked-here' })
  await gateway.waitForReply('c', 'two')
  const [row] = rowsIn(gateway.home, "select chat_id, payload from inbox where lane = 'turn' order by seq desc limit 1")
  const { source, authority, messageId } = JSON.parse(String(row?.['payload']))
  assert.deepEqual([row?.['chat_id'], source.chatId, authority.chatId, messageId], ['two', 'two', 'two', 'asked-here'])
})

test('in a shared conversation people take back their own messages, and an owner those of others', async (t) => {
  const gateway = await startTestGateway(t, { config: { roles, group_sessions_per_user: false } })
  const say = async (user: string, text: string) => {
    await gateway.say(text, { ...room, user })
    await gateway.waitForReply(text)
  }
  await say('mia', 'early')
  await say('boss', 'the plan')
  assert.match(await runCommand(gateway, '/undo 5', { ...room, user: 'mia' }), /from \*\*boss\*\*/)
  await say('mia', 'late')
  const reply = await runCommand(gateway, '/undo 5', { ...room, user: 'mia' })
  assert.match(reply, /your last message and its answer.*late.*before is from \*\*boss\*\*/)
  const taken = () =>
    rowsIn(gateway.home, "select content from messages where superseded = -2 and role = 'user' order by id").map(
      ({ content }) => content,
    )
  assert.deepEqual(taken(), ['[mia] late'])
  assert.match(await runCommand(gateway, '/undo 2', { ...room, user: 'boss' }), /2 messages, also of \*\*mia\*\*, and/)
  assert.deepEqual(taken(), ['[mia] early', '[boss] the plan', '[mia] late'])
})

test('a command that is refused does not stop the running turn', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { roles, group_sessions_per_user: false },
    model: ({ lastUserText }) => (lastUserText.includes('long') ? { hang: 'headers' } : { text: 'done' }),
  })
  const mia = { user: 'mia', chat: 'one' }
  await gateway.say('alpha', mia)
  await gateway.waitForReply('done', 'one')
  await gateway.say('long work', { ...room, user: 'boss' })
  await gateway.say('long talk', { ...mia, chat: 'two' })
  await gateway.modelRequest(2)
  for (const command of ['/retry', '/undo'])
    assert.match(await runCommand(gateway, command, { ...room, user: 'mia' }), /nly its author/)
  assert.match(await runCommand(gateway, '/resume alpha', { ...mia, chat: 'two' }), /Another chat/)
  assert.deepEqual(
    rowsIn(gateway.home, 'select state, stop_requested from turns order by started_at').map(Object.values),
    [
      ['done', 0],
      ['running', 0],
      ['running', 0],
    ],
  )
})

test('/branch continues with a copy, and the original stays as it is', async (t) => {
  const gateway = await startTestGateway(t)
  await exchange(gateway, 'one')
  const [original = ''] = sessionIds(gateway)
  await runCommand(gateway, '/branch Other way')
  await exchange(gateway, 'two')
  assert.deepEqual(lastRequest(gateway), ['user: one', 'assistant: You said: one', 'user: two'])
  const [systemBefore, systemAfter] = gateway.model.requests.map(({ body }) => at(body, 'messages', 0))
  assert.deepEqual(systemAfter, systemBefore, 'the copy keeps the cached beginning of the prompt')
  await runCommand(gateway, `/resume ${original}`)
  await exchange(gateway, 'three')
  assert.deepEqual(lastRequest(gateway), ['user: one', 'assistant: You said: one', 'user: three'])
  assert.match(await runCommand(gateway, '/sessions'), /1\. Other way/)
})

test('what is chosen before the first message begins the conversation and holds in it', async (t) => {
  const gateway = await startTestGateway(t, { config: { roles: { owners: ['fake:user'] } } })
  assert.match(await runCommand(gateway, '/yolo'), /\*\*On\*\*/)
  assert.match(await runCommand(gateway, '/title Holiday'), /Holiday/)
  await gateway.say('hello')
  await gateway.waitForReply('hello')
  const status = await runCommand(gateway, '/status')
  assert.match(status, /Holiday/)
  assert.match(status, /yolo/)
  assert.equal(gateway.events.filter(({ name }) => name === 'session:start').length, 1)
})

test('/usage and /insights show numbers of this person only', async (t) => {
  const gateway = await startTestGateway(t)
  assert.match(await runCommand(gateway, '/usage'), /not begun/)
  await exchange(gateway, 'one')
  await exchange(gateway, 'two', { user: 'bob', chat: 'bob-dm' })
  assert.match(await runCommand(gateway, '/usage'), /Tokens/)
  assert.match(await runCommand(gateway, '/insights'), /Conversations\*\* 1 .*messages\*\* 2/)
  assert.match(await runCommand(gateway, '/insights 0'), /number/)
})

test('a command that is repeated after a failure of the gateway takes back one exchange, not two', async (t) => {
  let failures = 0
  const gateway = await startTestGateway(t, {
    gateway: {
      failpoint(point) {
        if (point !== 'command:done' || failures > 0) return
        failures += 1
        throw new Error('the gateway fails between a command and its result')
      },
    },
  })
  for (const text of ['one', 'two', 'three']) await exchange(gateway, text)
  await runCommand(gateway, '/undo')
  assert.equal(failures, 1)
  await exchange(gateway, 'four')
  assert.deepEqual(lastRequest(gateway).slice(2), ['user: two', 'assistant: You said: two', 'user: four'])
})

test('what was permitted until the end of a conversation is not permitted when it is continued', async (t) => {
  const gateway = await startTestGateway(t, { config: { roles: { owners: ['fake:ada'] } } })
  const ada = { user: 'ada', chat: 'ada-dm' }
  await exchange(gateway, 'one', ada)
  await runCommand(gateway, '/yolo', ada)
  assert.match(await runCommand(gateway, '/status', ada), /yolo/)
  await runCommand(gateway, '/new', ada)
  assert.match(await runCommand(gateway, '/resume one', ada), /Continues/)
  assert.doesNotMatch(await runCommand(gateway, '/status', ada), /yolo/)
})

test('a conversation is open in one chat at a time', async (t) => {
  const gateway = await startTestGateway(t)
  const here = { user: 'ada', chat: 'first' }
  const there = { user: 'ada', chat: 'second' }
  await exchange(gateway, 'about roses', here)
  await exchange(gateway, 'about tulips', there)
  assert.match(await runCommand(gateway, '/resume roses', there), /Another chat/)
  await runCommand(gateway, '/new', here)
  assert.match(await runCommand(gateway, '/resume roses', there), /Continues/)
  await exchange(gateway, 'which flowers?', there)
  assert.equal(lastRequest(gateway)[0], 'user: about roses')
  assert.doesNotMatch(await runCommand(gateway, '/sessions', here), /which/)
})
