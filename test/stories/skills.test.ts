import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runInProcess } from '../cli/support.ts'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { conversation, runCommand, terminalCall, waitForQuestion } from './support.ts'

const roles = { owners: ['fake:boss'], members: ['fake:mia'], guests: ['fake:gast'] }

function writeSkill({ home }: Pick<TestGateway, 'home'>, path: string, head: string, body: string): void {
  const folder = join(home.skills, path)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'SKILL.md'), `---\nname: ${path.split('/').at(-1)}\n${head}\n---\n\n${body}\n`)
}

function systemPrompt(request: RecordedRequest | undefined): string {
  const messages = request?.body['messages']
  const [first] = Array.isArray(messages) ? messages : []
  return String(first?.content)
}

test('a skill that is named with a slash reaches the model with the message, and observers hear what was typed', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'packed' }, { text: 'again' }] })
  writeSkill(gateway, 'travel/pack-bag', 'description: Pack a bag', 'Socks first.')
  writeSkill(gateway, 'travel/check-visa', 'description: Check visas', 'Ask the embassy.')
  await gateway.say('/pack_bag /check-visa for Oslo')
  await gateway.waitForReply('packed')
  const [said = ''] = conversation(gateway.model.requests[0])
  assert.ok(said.indexOf('Socks first.') < said.indexOf('Ask the embassy.'))
  assert.ok(said.endsWith('/pack_bag /check-visa for Oslo'))
  const [start] = gateway.events.filter(({ name }) => name === 'agent:start')
  assert.equal(start?.context['message'], '/pack_bag /check-visa for Oslo')
  // It is a part of the conversation, so that the model still knows it.
  await gateway.say('and now?')
  await gateway.waitForReply('again')
  assert.match(conversation(gateway.model.requests[1])[0] ?? '', /Socks first/)
})

test('a conversation that begins with a skill is listed and taken back by the words of the person', async (t) => {
  const search = { toolCalls: [{ name: 'session_search', arguments: {} }] }
  const gateway = await startTestGateway(t, { config: { roles }, replies: [{ text: 'ok' }, search, { text: 'found' }] })
  writeSkill(gateway, 'travel/pack-bag', 'description: Pack a bag', 'Socks first.')
  writeSkill(gateway, 'travel/check-visa', 'description: Check visas', 'Ask the embassy.')
  const said = '/pack-bag /check-visa for Oslo'
  const who = { user: 'boss', chat: 'dm-boss' }
  await gateway.say(said, who)
  await gateway.waitForReply('ok')
  const { stdout } = await runInProcess(gateway.home.root, ['sessions', 'list', '--json'])
  assert.equal(JSON.parse(stdout)[0].about, said)
  await gateway.say('/new', who)
  await gateway.say('what did we do?', who)
  await gateway.waitForReply('found')
  const found = conversation(gateway.model.requests[2]).at(-1) ?? ''
  assert.ok(found.includes(`"preview":"${said}"`), found)
  await gateway.say('/sessions', who)
  await gateway.waitForReply(new RegExp(`1. ${said}`))
  await gateway.say('/resume 1', who)
  await gateway.say('/undo', who)
  await gateway.waitForReply(new RegExp(`from “${said}” on`))
})

test('a command wins over a skill of its name, and a name of nothing is an unknown command', async (t) => {
  const gateway = await startTestGateway(t)
  writeSkill(gateway, 'status', 'description: x', 'Never.')
  assert.match(await runCommand(gateway, '/status'), /Session/)
  await gateway.say('/nothing-there')
  await gateway.waitForReply(/Unknown command/)
  assert.equal(gateway.model.requests.length, 0)
})

test('people find the skills in the list of commands', async (t) => {
  const gateway = await startTestGateway(t)
  writeSkill(gateway, 'travel/pack-bag', 'description: Pack a bag', 'Socks first.')
  const pages = [await runCommand(gateway, '/commands 2'), await runCommand(gateway, '/commands 3')]
  assert.match(pages.join('\n'), /\/pack-bag/)
})

test('a new conversation lists the skills; a running one keeps its prompt while they change', async (t) => {
  const gateway = await startTestGateway(t, { model: () => ({ text: 'ok' }) })
  writeSkill(gateway, 'travel/pack-bag', 'description: Pack a bag', 'Socks first.')
  await gateway.say('one')
  await gateway.until(() => gateway.model.requests.length === 1)
  writeSkill(gateway, 'travel/check-visa', 'description: Check visas', 'Ask.')
  await gateway.say('two')
  await gateway.until(() => gateway.model.requests.length === 2)
  const [first, second] = gateway.model.requests.map(systemPrompt)
  assert.match(first ?? '', /- pack-bag: Pack a bag/)
  assert.equal(second, first)
  await runCommand(gateway, '/new')
  await gateway.say('three')
  await gateway.until(() => gateway.model.requests.length === 3)
  assert.match(systemPrompt(gateway.model.requests[2]), /- check-visa: Check visas/)
})

test('the variables of a skill reach commands after it was read, and a missing one is explained', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { roles },
    prepare: ({ envFile }) => writeFileSync(envFile, 'WIKI_TOKEN=wiki-value-1\nOPENAI_ORG=never\n', { mode: 0o600 }),
    replies: [
      terminalCall('echo "before:$WIKI_TOKEN"'),
      { toolCalls: [{ name: 'skill_view', arguments: { name: 'wiki' } }] },
      terminalCall(`echo "after:\${#WIKI_TOKEN}:$OPENAI_ORG:"`),
      { text: 'done' },
    ],
  })
  const variables =
    'required_environment_variables: [{ name: WIKI_TOKEN }, { name: WIKI_SPACE, help: See the wiki. }, { name: OPENAI_ORG }]'
  writeSkill(gateway, 'wiki', `description: Use the wiki\n${variables}`, 'Call the API.')
  await gateway.say('use the wiki', { user: 'boss' })
  await gateway.waitForReply('done')
  const results = conversation(gateway.model.requests[3]).filter((line) => line.startsWith('tool:'))
  assert.match(results[0] ?? '', /before:\\n|before:"/)
  const viewed = JSON.parse((results[1] ?? '').replace(/^tool: /, ''))
  assert.equal(viewed.missing_variables.length, 2)
  assert.match(viewed.missing_variables.join('\n'), /WIKI_SPACE.*See the wiki/)
  assert.match(results[2] ?? '', /after:12::/)
})

test('the agent writes a skill after an owner has allowed it, whatever settles other calls; a guest never can', async (t) => {
  const content = '---\nname: brew-tea\ndescription: Brew tea\n---\n\nThree minutes.\n'
  const create = { toolCalls: [{ name: 'skill_manage', arguments: { action: 'create', name: 'brew-tea', content } }] }
  const gateway = await startTestGateway(t, {
    config: {
      roles: { ...roles, guest: { tools: ['*'] } },
      approvals: { mode: 'off' },
      skills: { write_approval: true },
    },
    replies: [create, { text: 'refused' }, create, { text: 'written' }],
  })
  const file = join(gateway.home.skills, 'brew-tea', 'SKILL.md')
  await gateway.say('remember how', { user: 'gast', chat: 'dm-gast' })
  await gateway.waitForReply('refused')
  assert.match(conversation(gateway.model.requests[1]).at(-1) ?? '', /not_permitted/)
  assert.equal(existsSync(file), false)
  await gateway.say('remember how', { user: 'boss', chat: 'dm-boss' })
  await waitForQuestion(gateway, 'dm-boss')
  await gateway.say('/approve', { user: 'boss', chat: 'dm-boss' })
  await gateway.waitForReply('written')
  assert.equal(readFileSync(file, 'utf8'), content)
})

test('a member changes no skill that others follow without an owner', async (t) => {
  const content = '---\nname: deploy\ndescription: Deploy\n---\n\nRun it from a page.\n'
  const edit = { toolCalls: [{ name: 'skill_manage', arguments: { action: 'edit', name: 'deploy', content } }] }
  const gateway = await startTestGateway(t, { config: { roles }, replies: [edit, { text: 'refused' }] })
  writeSkill(gateway, 'deploy', 'description: Deploy', 'Run make deploy.')
  await gateway.say('change it', { user: 'mia', chat: 'dm-mia' })
  await gateway.waitForReply('refused')
  assert.match(conversation(gateway.model.requests[1]).at(-1) ?? '', /error/)
  assert.match(readFileSync(join(gateway.home.skills, 'deploy', 'SKILL.md'), 'utf8'), /make deploy/)
})
