/**
 * A command that the policy does not allow freely is asked about in the chat, and runs only after a yes.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { hasResult, rowsIn, terminalCall, waitForCommandReply, waitForQuestion } from './support.ts'

const buttons = { capabilities: ['edit', 'buttons'] } as const

function lastContent({ body }: RecordedRequest): string {
  const messages = body['messages']
  return Array.isArray(messages) ? String(messages.at(-1)?.content) : ''
}

/** A model that runs the command of the user and then repeats its result. */
function runCommand(request: RecordedRequest): ModelReply {
  if (hasResult(request)) return { text: `It gave: ${lastContent(request)}` }
  const said = lastContent(request)
  return said.startsWith('run ') ? terminalCall(said.slice('run '.length)) : { text: `You said: ${said}` }
}

/** A gateway whose working folder has the folders `a`, `b` and `c`. */
async function withFolders(t: TestContext, options: TestGatewayOptions = {}) {
  let root = ''
  const gateway = await startTestGateway(t, {
    model: runCommand,
    ...options,
    config: { roles: { owners: ['fake:user'] }, ...options.config },
    prepare(home) {
      root = join(home.root, 'work')
      for (const name of ['a', 'b', 'c']) mkdirSync(join(root, name), { recursive: true })
    },
  })
  const folder = (name: string) => join(root, name)
  return { gateway, folder, isThere: (name: string) => existsSync(folder(name)) }
}

function questions(gateway: TestGateway): number {
  return gateway.replies().filter((text) => text.startsWith('May I run')).length
}

test('a command is shown with its place and runs after a press; a refusal with its reason reaches the model', async (t) => {
  const { gateway, folder, isThere } = await withFolders(t, buttons)
  await gateway.say(`run rm -r '${folder('a')}'`)
  const question = await waitForQuestion(gateway)
  assert.ok(question.text.includes(`\`\`\`\nrm -r '${folder('a')}'\n\`\`\``), question.text)
  assert.match(question.text, /Runs in .+ \(.+\)/)
  assert.ok(isThere('a'))
  await gateway.platform.press(question, 'Allow once')
  await gateway.waitForReply(/It gave: .*exit_code/)
  assert.ok(!isThere('a'))
  await gateway.say(`run rm -r '${folder('b')}'`)
  await gateway.until(({ id, text }) => id !== question.id && text.startsWith('May I run'))
  await gateway.say('/deny keep it')
  await gateway.waitForReply(/It gave: .*keep it/)
  assert.ok(isThere('b'))
})

test('a plain yes allows and a plain no refuses, only while a command waits', async (t) => {
  const { gateway, folder, isThere } = await withFolders(t)
  await gateway.say('yes')
  await gateway.waitForReply('You said: yes')
  await gateway.say(`run rm -r '${folder('a')}'`)
  await waitForQuestion(gateway)
  await gateway.say('👍🏽')
  await gateway.waitForReply(/It gave: .*exit_code/)
  assert.ok(!isThere('a'))
  await gateway.say(`run rm -r '${folder('b')}'`)
  await gateway.until(() => questions(gateway) === 2)
  await gateway.say('No.')
  await gateway.waitForReply(/It gave: .*refused/)
  await gateway.say('ok')
  await gateway.waitForReply('You said: ok')
  assert.ok(isThere('b'))
})

test('"always" of an owner is written to config.yaml, keeps its comments, and applies to other chats', async (t) => {
  const { gateway, folder, isThere } = await withFolders(t, buttons)
  const before = readFileSync(gateway.home.configFile, 'utf8')
  writeFileSync(gateway.home.configFile, `# mine\n${before}`)
  await gateway.say(`run rm -r '${folder('a')}'`)
  await gateway.platform.press(await waitForQuestion(gateway), 'Always')
  await gateway.waitForReply(/It gave: .*exit_code/)
  const after = readFileSync(gateway.home.configFile, 'utf8')
  assert.match(after, /^# mine\n/)
  assert.match(after, /command_allowlist[^\n]*\n?\s*-?.*rm -r .+\/a\b/)
  mkdirSync(folder('a'))
  await gateway.say(`run rm -r '${folder('a')}'`, { chat: 'elsewhere' })
  await gateway.waitForReply(/It gave: .*exit_code/, 'elsewhere')
  assert.ok(!isThere('a'))
  await gateway.say(`run rm -r '${folder('b')}'`, { chat: 'elsewhere' })
  await waitForQuestion(gateway, 'elsewhere')
  assert.equal(questions(gateway), 2, 'another path is another shape')
})

test('approvals.mode off and /yolo run commands without a question, but never a forbidden or a denied one', async (t) => {
  const { gateway, folder, isThere } = await withFolders(t, {
    config: { approvals: { mode: 'off', deny: ['*denied-word*'] } },
  })
  await gateway.say(`run rm -r '${folder('a')}'`)
  await gateway.waitForReply(/It gave: .*exit_code/)
  assert.ok(!isThere('a'))
  for (const command of ['rm -rf / --no-preserve-root', 'echo denied-word']) {
    await gateway.say(`run ${command}`)
    await gateway.waitForReply(/It gave: .*command_refused|It gave: .*Refused/)
  }
  assert.equal(rowsIn(gateway.home, 'select id from questions').length, 0)
})

test('/yolo is shown in the status and ends with /new', async (t) => {
  const { gateway, folder, isThere } = await withFolders(t)
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  await gateway.say('/yolo')
  await waitForCommandReply(gateway, 'On')
  await gateway.say('/status')
  await waitForCommandReply(gateway, '/yolo')
  await gateway.say(`run rm -r '${folder('a')}'`)
  await gateway.waitForReply(/It gave: .*exit_code/)
  assert.ok(!isThere('a'))
  await gateway.say('/new')
  await waitForCommandReply(gateway, 'New conversation')
  await gateway.say(`run rm -r '${folder('b')}'`)
  await waitForQuestion(gateway)
  assert.ok(isThere('b'))
})

test('three refusals in a row end the turn with a notice', async (t) => {
  const { gateway, folder, isThere } = await withFolders(t, {
    model: (request) => {
      const said = lastContent(request)
      return said.startsWith('begin') || hasResult(request) ? terminalCall(`rm -r '${folder('a')}'`) : { text: said }
    },
  })
  await gateway.say('begin')
  for (let count = 1; count <= 3; count += 1) {
    await gateway.until(() => questions(gateway) === count)
    await gateway.say('/deny')
  }
  await gateway.waitForReply(/three commands/)
  await gateway.say('and now?')
  await gateway.waitForReply(/and now\?$/)
  assert.deepEqual([questions(gateway), isThere('a')], [3, true])
})

test('with approvals.mode smart only a clear yes of the model avoids the question', async (t) => {
  let verdict = 'YES'
  const { gateway, folder, isThere } = await withFolders(t, {
    config: { approvals: { mode: 'smart' } },
    model(request) {
      if (lastContent(request).includes('flagged_because')) return { text: verdict }
      return runCommand(request)
    },
  })
  await gateway.say(`run rm -r '${folder('a')}'`)
  await gateway.waitForReply(/It gave: .*exit_code/)
  assert.ok(!isThere('a'))
  verdict = 'Yes, unless it is not.'
  await gateway.say(`run rm -r '${folder('b')}'`)
  await waitForQuestion(gateway)
  assert.ok(isThere('b'))
})
