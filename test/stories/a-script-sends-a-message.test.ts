/**
 * A script sends a message through the running gateway (`hermes send`) and learns what happened to it.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runInProcess } from '../cli/support.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at } from './support.ts'

const withHome = { platforms: { fake: { home_channel: { chat_id: 'Home', name: 'the family' } } } }

test('a message to a platform, a chat, a thread or a name arrives, and the script is told', async (t) => {
  const gateway = await startTestGateway(t, { config: withHome, capabilities: ['chats'] })
  gateway.platform.nameChats([
    { chatId: 'C1', name: 'general' },
    { chatId: 'C2', name: 'random' },
  ])
  const send = async (...words: string[]) => {
    const { code, stdout, stderr } = await runInProcess(gateway.home.root, ['send', ...words, '--json'])
    assert.equal(code, 0, stderr)
    const results: unknown = JSON.parse(stdout)
    return results
  }
  assert.equal(at(await send('fake', 'one', 'word'), 0, 'chat'), 'fake:Home')
  assert.equal(at(await send('FAKE:Room', 'two'), 0, 'chat'), 'fake:Room')
  assert.equal(at(await send('fake:Room:T7', 'three'), 0, 'chat'), 'fake:Room:T7')
  assert.equal(at(await send('fake:#General', 'four'), 0, 'chat'), 'fake:C1')
  assert.equal(at(await send('home', 'five'), 0, 'status'), 'sent')
  assert.deepEqual(
    gateway.platform.shown().map(({ chat, thread, text }) => [chat, thread, text]),
    [
      ['Home', undefined, 'one word'],
      ['Room', undefined, 'two'],
      ['Room', 'T7', 'three'],
      ['C1', undefined, 'four'],
      ['Home', undefined, 'five'],
    ],
  )
})

test('a name is looked up on the platform, and otherwise among chats in which an owner has written', async (t) => {
  const config = { ...withHome, roles: { owners: ['fake:boss'], members: ['fake:mia'] } }
  const gateway = await startTestGateway(t, { config, capabilities: ['chats'] })
  const group = { chatType: 'group' as const }
  for (const [user, chat, title] of [
    ['mia', 'trap', 'Ops'],
    ['mia', 'trap-2', 'General'],
    ['mia', 'Home', 'Garden'],
    ['boss', 'team', 'Crew'],
    ['boss', 'team-2', 'Twins'],
    ['boss', 'team-3', 'Twins'],
  ] as const) {
    await gateway.say('hi', { ...group, user, chat, title })
    await gateway.waitForReply('hi', chat)
  }
  gateway.platform.nameChats([{ chatId: 'C1', name: 'general' }])
  const send = (name: string) => runInProcess(gateway.home.root, ['send', `fake:#${name}`, 'the plan', '--json'])
  for (const [name, chat] of Object.entries({ general: 'C1', crew: 'team', garden: 'Home', 'the family': 'Home' })) {
    const { stdout } = await send(name)
    assert.equal(at(JSON.parse(stdout), 0, 'chat'), `fake:${chat}`)
  }
  const { code, stderr } = await send('ops')
  assert.notEqual(code, 0)
  assert.ok(!stderr.includes('trap'), stderr)
  const ambiguous = await send('twins')
  assert.notEqual(ambiguous.code, 0)
  assert.ok(ambiguous.stderr.includes('fake:team-2') && ambiguous.stderr.includes('fake:team-3'), ambiguous.stderr)
  assert.ok(!gateway.replies('trap').includes('the plan'))
})

test('a conversation of the web page or the terminal that never began takes no message', async (t) => {
  const gateway = await startTestGateway(t)
  for (const target of ['web:nonsense', 'cli:nonsense']) {
    const { code, stdout } = await runInProcess(gateway.home.root, ['send', target, 'hello', '--json'])
    assert.notEqual(code, 0, stdout)
  }
})

test('the text comes from a file or from standard input, and files are attached', async (t) => {
  const gateway = await startTestGateway(t, { capabilities: ['files'] })
  const folder = gateway.home.workspace
  mkdirSync(folder, { recursive: true })
  const report = join(folder, 'the report.txt')
  writeFileSync(report, 'from the file')
  const first = await runInProcess(gateway.home.root, ['send', 'fake:a', '--file', report])
  assert.equal(first.code, 0, first.stderr)
  const second = await runInProcess(gateway.home.root, ['send', 'fake:a', '-'], { input: 'from a pipe\n' })
  assert.equal(second.code, 0, second.stderr)
  const third = await runInProcess(gateway.home.root, ['send', 'fake:a', 'see this', '--media', report])
  assert.equal(third.code, 0, third.stderr)
  assert.deepEqual(gateway.replies('a').slice(0, 3), ['from the file', 'from a pipe', 'see this'])
  assert.equal(gateway.platform.shown('a').at(3)?.file?.fileName, 'the report.txt')
})

test('a text that names a file of the machine attaches nothing', async (t) => {
  const gateway = await startTestGateway(t, { capabilities: ['files'] })
  const { code } = await runInProcess(gateway.home.root, ['send', 'fake:a', 'MEDIA:/etc/hostname'])
  assert.equal(code, 0)
  assert.deepEqual(
    gateway.platform.shown('a').map(({ text, file }) => [text, file]),
    [['MEDIA:/etc/hostname', undefined]],
  )
})

test('one result is reported for each of several targets, and a local one is a file of the home', async (t) => {
  const gateway = await startTestGateway(t, { config: withHome })
  gateway.platform.loseChat('gone')
  const { code, stdout } = await runInProcess(gateway.home.root, ['send', 'local,fake,fake:gone', 'hello', '--json'])
  assert.equal(code, 1)
  const results: unknown = JSON.parse(stdout)
  assert.deepEqual(
    [0, 1, 2].map((index) => at(results, index, 'status')),
    ['saved', 'sent', 'failed'],
  )
  assert.equal(readFileSync(String(at(results, 0, 'path')), 'utf8'), 'hello\n')
})

test('a chat that is gone is skipped until it is tried by force or writes again', async (t) => {
  const gateway = await startTestGateway(t)
  const send = async (...words: string[]) => {
    const { code, stdout } = await runInProcess(gateway.home.root, ['send', 'fake:x', ...words, '--json'])
    const results: unknown = JSON.parse(stdout)
    return [code, at(results, 0, 'status')]
  }
  gateway.platform.loseChat('x')
  assert.deepEqual(await send('one'), [1, 'failed'])
  gateway.platform.findChat('x')
  assert.deepEqual(await send('two'), [1, 'skipped'])
  assert.deepEqual(await send('three', '--force'), [0, 'sent'])
  assert.deepEqual(await send('four'), [0, 'sent'])
  gateway.platform.loseChat('x')
  assert.deepEqual(await send('five'), [1, 'failed'])
  gateway.platform.findChat('x')
  await gateway.say('here I am', { chat: 'x' })
  assert.deepEqual(await send('six'), [0, 'sent'])
})

test('a message that the platform does not confirm in time is kept and reported as such', async (t) => {
  const gateway = await startTestGateway(t)
  gateway.platform.failNext('temporary', { times: 1 })
  const { code, stdout } = await runInProcess(gateway.home.root, ['send', 'fake:a', 'hello', '--timeout', '0'])
  assert.equal(code, 75, stdout)
  await gateway.waitForReply('hello', 'a')
})

test('a mistyped platform, an unknown name and an ambiguous one are explained with similar ones, and nothing is sent', async (t) => {
  const gateway = await startTestGateway(t, { capabilities: ['chats'] })
  gateway.platform.nameChats([
    { chatId: 'C1', name: 'general', server: 'Home' },
    { chatId: 'C2', name: 'general', server: 'Work' },
    { chatId: 'C3', name: 'random' },
  ])
  const send = async (target: string) => {
    const { code, stderr } = await runInProcess(gateway.home.root, ['send', target, 'hello'])
    assert.equal(code, 1)
    assert.match(stderr, /delivery\/no-target/)
    return stderr
  }
  assert.match(await send('fkae:1'), /\bfake\b/)
  assert.match(await send('fake:#randon'), /random.*fake:C3/)
  assert.match(await send('fake:#general'), /Home \(fake:C1\).*Work \(fake:C2\)/)
  assert.match(await send('fake'), /home_channel/)
  assert.match(await send('fake,fake:#nowhere'), /home_channel/)
  assert.deepEqual(gateway.replies(), [])
})

test('without a text, with an unreadable file or without a gateway the command says what to do', async (t) => {
  const gateway = await startTestGateway(t)
  const root = gateway.home.root
  assert.equal((await runInProcess(root, ['send', 'fake:a', '--file', '/no/such/file'])).code, 2)
  assert.match((await runInProcess(root, ['send', 'fake:a', '-'], { input: '  \n' })).stderr, /http\/bad-request/)
  assert.equal((await runInProcess(root, ['send', 'fake:a', 'hi', '--timeout', 'x'])).code, 2)
  await gateway.stop()
  assert.equal((await runInProcess(root, ['send', 'fake:a', 'hi'])).code, 3)
})

test('hermes status shows the home channels', async (t) => {
  const gateway = await startTestGateway(t, { config: withHome })
  const { stdout } = await runInProcess(gateway.home.root, ['status'])
  assert.match(stdout, /^Home channels {2}fake:Home.*the family/m)
})
