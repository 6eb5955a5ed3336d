/**
 * `/background`: a person lets the agent work on the side, sees what runs, and gets the result in the same chat.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { conversation, hasResult, rowsIn, runCommand, terminalCall } from './support.ts'

const idPattern = /bg_\d{6}_[0-9a-f]{8}/

async function startTask(gateway: TestGateway, text: string, chat = 'chat'): Promise<string> {
  const before = new Set(gateway.replies(chat))
  await gateway.say(text, { chat, user: chat === 'chat' ? 'user' : chat })
  const { text: reply } = await gateway.until(
    (message) => message.chat === chat && !before.has(message.text) && idPattern.test(message.text),
  )
  return idPattern.exec(reply)?.[0] ?? assert.fail(reply)
}

test('a task is acknowledged with its id, knows nothing of the chat, and reports there while the chat goes on', async (t) => {
  const gate = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    model: ({ lastUserText }) =>
      lastUserText === 'count the files'
        ? { text: 'There are seven.', gate: () => gate.promise }
        : { text: `You said: ${lastUserText}` },
  })
  await gateway.say('my secret word is heron')
  await gateway.waitForReply('You said: my secret')
  const id = await startTask(gateway, '/bg count the files')
  const request = await gateway.modelRequest(1)
  assert.deepEqual(conversation(request), ['user: count the files'])
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  gate.resolve()
  const { text, chat } = await gateway.waitForReply('There are seven.')
  assert.ok(text.includes(id))
  assert.equal(chat, 'chat')
  await gateway.waitForLog({ event: 'task.ended' })
})

test('people see and stop their own tasks only, /stop leaves tasks alone, and each person has a limit', async (t) => {
  const never = new Promise<void>(() => undefined)
  const gateway = await startTestGateway(t, { model: () => ({ text: 'done', gate: () => never }) })
  const ids: string[] = []
  for (const number of [1, 2, 3, 4, 5]) ids.push(await startTask(gateway, `/background task ${number}`, 'ada'))
  const [first = ''] = ids
  await gateway.say('/background one too many', { chat: 'ada', user: 'ada' })
  await gateway.waitForReply('/agents', 'ada')
  const bob = await startTask(gateway, '/btw mine', 'bob')
  await gateway.say('/agents', { chat: 'bob', user: 'bob' })
  const { text } = await gateway.waitForReply('Tasks and sub-agents', 'bob')
  assert.deepEqual(text.match(new RegExp(idPattern, 'g')), [bob])
  await gateway.say(`/stop ${first}`, { chat: 'bob', user: 'bob' })
  await gateway.say('/stop', { chat: 'ada', user: 'ada' })
  await gateway.say('/tasks', { chat: 'ada', user: 'ada' })
  const listed = await gateway.waitForReply('Tasks and sub-agents', 'ada')
  assert.equal(listed.text.match(new RegExp(idPattern, 'g'))?.length, 5)
  await gateway.say(`/stop ${first}`, { chat: 'ada', user: 'ada' })
  await gateway.waitForReply(`⏹ Stopped the task \`${first}\``, 'ada')
  await gateway.waitForLog({ event: 'task.ended' })
  assert.equal(gateway.current().status().background.length, 5)
})

test('a task has the rights of the person and asks no questions: what needs approval is refused', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { roles: { owners: ['fake:user'] } },
    prepare: (home) => void mkdirSync(join(home.root, 'build')),
    model: (request): ModelReply => (hasResult(request) ? { text: 'I could not.' } : terminalCall('rm -rf ./build')),
  })
  await startTask(gateway, '/background clean up')
  await gateway.waitForReply('I could not.')
  assert.deepEqual(rowsIn(gateway.home, 'select * from questions'), [])
  assert.ok(existsSync(join(gateway.home.root, 'build')))
})

test('a task that a restart interrupts goes on, and reports once to the chat that asked', async (t) => {
  let asked = 0
  const gateway = await startTestGateway(t, {
    model: (): ModelReply => (asked++ === 0 ? { hang: 'headers' } : { text: 'All is well.' }),
  })
  const id = await startTask(gateway, '/background look around')
  await gateway.modelRequest(0)
  await gateway.stop(AbortSignal.abort())
  await gateway.start()
  const { text } = await gateway.waitForReply('All is well.')
  assert.ok(text.includes(id))
  await gateway.stop()
  assert.equal(gateway.replies().filter((reply) => reply.includes('All is well.')).length, 1)
})

test('a task that fails says so in the chat with its id', async (t) => {
  const error = { status: 401, body: { error: { message: 'no such key' } } }
  const gateway = await startTestGateway(t, { model: () => ({ error }) })
  const id = await startTask(gateway, '/background look around')
  const { text } = await gateway.waitForReply('provider/auth')
  assert.ok(text.includes(id))
})

test('what others wrote is listed as data: no link, no mention, nothing hidden, and no part of a secret', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { roles: { owners: ['fake:boss'], members: ['fake:mia'] } },
    model: () => ({ hang: 'headers' }),
  })
  const token = gateway.current().token()
  const mia = { user: 'mia', chat: 'm' }
  await runCommand(gateway, '/bg [Approve](https://evil.example) **bold** @everyone \u202eabc', mia)
  const started = await runCommand(gateway, `/bg ${'y'.repeat(45)} ${token}`, mia)
  const list = await runCommand(gateway, '/agents', { user: 'boss', chat: 'b' })
  assert.match(list, /`Approve \(https:\/\/evil\.example\) \*\*bold\*\* @everyone \\u202eabc`/)
  for (const text of [started, list]) assert.ok(!text.includes(token.slice(0, 8)), text)
  await runCommand(gateway, '/stop', mia)
})
