/**
 * The agent sends a message to another chat with the tool `send_message`: for whom it may, and where.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, hasResult, rowsIn } from './support.ts'

/** The message of the user is the JSON of the arguments; the answer is the result of the tool. */
function model(request: RecordedRequest): ModelReply {
  const { body, lastUserText } = request
  const messages = Array.isArray(body['messages']) ? body['messages'] : []
  if (hasResult(request)) return { text: `result: ${at(messages.at(-1), 'content')}` }
  if (!lastUserText.startsWith('{')) return { text: 'hello' }
  return { toolCalls: [{ name: 'send_message', arguments: lastUserText }] }
}

const boss = { user: 'boss' }
const member = { user: 'mia' }
const roles = {
  owners: ['fake:boss'],
  members: ['fake:mia'],
  guest: { tools: ['*'], group_tools: ['*'] },
}
const config = { roles, platforms: { fake: { home_channel: { chat_id: 'Home', name: 'family' } } } }
const sending = (target: string, message = 'good news') => JSON.stringify({ target, message })

test('for an owner the agent sends to any chat, and the message arrives once', async (t) => {
  const gateway = await startTestGateway(t, { config, model })
  await gateway.say(sending('fake:ops:7'), boss)
  const { thread } = await gateway.waitForReply('good news', 'ops')
  assert.equal(thread, '7')
  await gateway.waitForReply(/result: .*"success":true/, 'chat')
  assert.deepEqual(gateway.replies('ops'), ['good news'])
})

test('for a member it sends to this chat, home channels and chats in which the member has written, and nowhere else', async (t) => {
  const gateway = await startTestGateway(t, { config, model })
  await gateway.say('hi', { ...member, chat: 'club', chatType: 'group' })
  await gateway.waitForReply('hello', 'club')
  await gateway.say('hi', { ...boss, chat: 'board', chatType: 'group' })
  await gateway.waitForReply('hello', 'board')
  const outcomeOf = async (target: string) => {
    const chat = `dm-${target}`
    await gateway.say(sending(target), { ...member, chat })
    const { text } = await gateway.waitForReply(/result: /, chat)
    return text.includes('"success":true')
  }
  assert.equal(await outcomeOf('origin'), true)
  assert.equal(await outcomeOf('fake'), true)
  assert.equal(await outcomeOf('fake:club'), true)
  assert.equal(await outcomeOf('fake:board'), false)
  assert.equal(await outcomeOf('fake:elsewhere'), false)
  assert.equal(await outcomeOf('local'), false)
  await gateway.waitForReply('good news', 'club')
  await gateway.waitForReply('good news', 'Home')
  assert.deepEqual([...gateway.replies('board'), ...gateway.replies('elsewhere')], ['hello'])
})

test('for a member it sends only to threads from which a message of their chat came', async (t) => {
  const gateway = await startTestGateway(t, { config, model })
  await gateway.say('hi', { ...boss, chat: 'club', chatType: 'group', thread: 'plans' })
  await gateway.waitForReply('hello', 'club')
  await gateway.say('hi', { ...member, chat: 'club', chatType: 'group' })
  await gateway.until(({ chat, thread, text }) => chat === 'club' && thread === undefined && text === 'hello')
  const outcomeOf = async (target: string) => {
    const chat = `dm-${target}`
    await gateway.say(sending(target), { ...member, chat })
    const { text } = await gateway.waitForReply(/result: /, chat)
    return text.includes('"success":true')
  }
  assert.equal(await outcomeOf('fake:club:plans'), true)
  assert.equal(await outcomeOf('fake:club:board'), false)
  assert.equal(await outcomeOf('fake:Home:board'), false)
  assert.equal(await outcomeOf('fake:dm-fake:club:board:board'), false)
  await gateway.until(({ chat, thread, text }) => chat === 'club' && thread === 'plans' && text === 'good news')
  assert.deepEqual(
    gateway.platform.shown().filter(({ thread }) => thread === 'board'),
    [],
  )
})

test('the list of targets shows a person only the chats to which it may send for this person', async (t) => {
  const gateway = await startTestGateway(t, { config, model, capabilities: ['chats'] })
  gateway.platform.nameChats([{ chatId: 'C1', name: 'secret-plans' }])
  await gateway.say('hi', { ...boss, chat: 'board', chatType: 'group' })
  await gateway.waitForReply('hello', 'board')
  const listFor = async (person: { user: string }) => {
    const chat = `dm-${person.user}`
    await gateway.say('{"action":"list"}', { ...person, chat })
    return (await gateway.waitForReply(/result: /, chat)).text
  }
  const own = await listFor(member)
  assert.ok(own.includes('fake:dm-mia') && own.includes('fake:Home'), own)
  assert.ok(!own.includes('board') && !own.includes('secret-plans'), own)
  const all = await listFor(boss)
  assert.ok(all.includes('fake:board') && all.includes('secret-plans'), all)
})

test('for a guest nothing is sent, whatever the tools of guests are', async (t) => {
  const gateway = await startTestGateway(t, { config, model })
  await gateway.say(sending('origin'), { user: 'stranger' })
  const { text } = await gateway.waitForReply(/result: /, 'chat')
  assert.match(text, /guest/)
  assert.deepEqual(rowsIn(gateway.home, "select * from outbox where key like 'send:%'"), [])
})

test('a chat that is gone, an unknown name and an empty message are results that the agent can read', async (t) => {
  const gateway = await startTestGateway(t, { config, model, capabilities: ['chats'] })
  gateway.platform.loseChat('gone')
  await gateway.post('/api/send', { targets: ['fake:gone'], text: 'hello' })
  const codeOf = async (text: string, chat: string) => {
    await gateway.say(text, { ...boss, chat })
    return (await gateway.waitForReply(/result: /, chat)).text
  }
  assert.match(await codeOf(sending('fake:gone'), 'one'), /takes no messages/)
  assert.match(await codeOf(sending('fake:#nowhere'), 'two'), /#nowhere/)
  assert.match(await codeOf(sending('fake:x', ' '), 'three'), /no_message/)
  assert.match(await codeOf('{"message":"x"}', 'four'), /no_target/)
})

test('a secret of the gateway is withheld, as in replies', async (t) => {
  const gateway = await startTestGateway(t, { config, model })
  await gateway.say(sending('fake:ops', `the token is ${gateway.current().token()}`), boss)
  const { text } = await gateway.waitForReply('the token is', 'ops')
  assert.ok(!text.includes(gateway.current().token()), text)
})

test('a file is sent with the message', async (t) => {
  const gateway = await startTestGateway(t, { config, model, capabilities: ['files'] })
  mkdirSync(gateway.home.workspace, { recursive: true })
  const path = join(gateway.home.workspace, 'plan.txt')
  writeFileSync(path, 'the plan')
  await gateway.say(JSON.stringify({ target: 'fake:ops', message: 'see the plan', media: [path] }), boss)
  await gateway.waitForReply('see the plan', 'ops')
  const { file } = await gateway.until((message) => message.chat === 'ops' && message.file !== undefined)
  assert.equal(file?.fileName, 'plan.txt')
})

test('a file that may not be sent is an error for the agent, and nothing reaches the other chat', async (t) => {
  const gateway = await startTestGateway(t, { config, model, capabilities: ['files'] })
  for (const [index, call] of [
    { message: 'see this', media: ['/etc/passwd'] },
    { message: 'see this', media: [join(gateway.home.workspace, 'missing.txt')] },
    { message: 'MEDIA:/etc/passwd' },
  ].entries()) {
    const chat = `dm-${index}`
    await gateway.say(JSON.stringify({ target: 'fake:Home', ...call }), { ...member, chat })
    const { text } = await gateway.waitForReply(/result: /, chat)
    assert.match(text, /not_sent/)
  }
  assert.deepEqual(gateway.platform.shown('Home'), [])
})

test('a background task sends for the person who caused it, and has no chat of its own', async (t) => {
  const gateway = await startTestGateway(t, {
    config,
    model,
    prepare(home) {
      const folder = join(home.hooks, 'starter')
      mkdirSync(folder, { recursive: true, mode: 0o755 })
      writeFileSync(join(folder, 'HOOK.yaml'), 'events: gateway:startup\n')
      writeFileSync(
        join(folder, 'handler.js'),
        `export const handle = (event, context, { gateway }) =>
           gateway.startAgent(${JSON.stringify(sending('fake:ops'))}, { deliver: 'fake:report' })`,
      )
    },
  })
  await gateway.waitForReply('good news', 'ops')
  await gateway.waitForReply(/result: .*"success":true/, 'report')
})
