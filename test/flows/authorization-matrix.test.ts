/**
 * The matrix of who may cause what, for every platform with allow lists, every kind of chat and every role: access, tools and commands.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { createModelCallMonitor } from '../../src/agent/models/model-call-monitor.ts'
import { describedCommands } from '../../src/app/built-in-commands.ts'
import { gatewayShapes } from '../../src/app/config.ts'
import { createCommandRegistry } from '../../src/commands/registry.ts'
import { createAccountDirectory } from '../../src/flows/access/account-directory.ts'
import { refuseCommand } from '../../src/flows/access/command-ceiling.ts'
import { createAgentServices } from '../../src/flows/tools/create-agent-services.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { SessionSource } from '../../src/message/source.ts'
import { discoverPlatforms } from '../../src/platforms/registry.ts'
import { agentDeps } from '../agent/run-test-agent.ts'
import { connectWithRoles } from '../kit/held-roles.ts'
import { openStore } from '../kit/open-store.ts'
import { tempHome } from '../kit/temp-home.ts'
import { actions, chatPlatforms, people, places } from './authorization-cases.ts'

const directory = fileURLToPath(new URL('../../platforms/', import.meta.url))
const catalogue = discoverPlatforms({ directories: [directory], log: silentLog })

type Place = (typeof places)[number]
type Person = (typeof people)[number]

const account = {
  enabled: true,
  allow_from: ['owner', 'member', 'administrator of groups'],
  group_allowed_chats: ['open'],
  group_allow_from: ['guest'],
  extra: {
    allow_admin_from: ['owner'],
    user_allowed_commands: ['status'],
    group_allow_admin_from: ['administrator of groups'],
    group_user_allowed_commands: [],
  },
}

function configWith(changes: object) {
  const config = {
    platforms: { telegram: { token: 't', ...account }, discord: { token: 't', ...account }, slack: { ...account } },
    roles: { owners: chatPlatforms.map((platform) => `${platform}:owner`) },
    ...changes,
  }
  return z.object(gatewayShapes(catalogue.platforms)).parse(config)
}

function sourceOf(platform: string, place: Place, person: Person): SessionSource {
  const base = { platform, account: 'default', userId: person, ...(person === 'bot' ? { isBot: true } : {}) }
  switch (place) {
    case 'direct message':
      return { ...base, chatId: `dm of ${person}`, chatType: 'dm' }
    case 'open group':
      return { ...base, chatId: 'open', chatType: 'group' }
    case 'open thread':
      return { ...base, chatId: 'thread', parentChatId: 'open', chatType: 'thread' }
    case 'closed group':
      return { ...base, chatId: 'closed', chatType: 'channel' }
  }
}

type Action = (typeof actions)[number]

const everything: readonly Action[] = actions
const harmless: readonly Action[] = ['write', 'todo']
const memberTools: readonly Action[] = [...harmless, 'read_file', 'write_file', 'terminal', 'delegate_task']

/** What the default ceilings and the lists of the account permit. */
function expected(place: Place, person: Person): readonly Action[] {
  const isOpen = place === 'open group' || place === 'open thread'
  const inGroup = place !== 'direct message'
  if (person === 'owner') return everything
  if (person === 'administrator of groups') return inGroup ? everything : [...memberTools, '/help', '/status']
  if (person === 'member')
    return inGroup ? [...harmless, 'delegate_task', '/help'] : [...memberTools, '/help', '/status']
  if (person === 'guest') return inGroup ? [...harmless, '/help'] : []
  return isOpen ? [...harmless, '/help'] : []
}

const commands = createCommandRegistry(describedCommands())

function gatewayWith(t: TestContext, home: string, changes: object = {}) {
  const settings = configWith(changes)
  const directoryOfAccounts = createAccountDirectory({
    profile: 'default',
    catalogue,
    settings: () => settings,
    unusableSettings: () => [],
    usesDefaultsAfterFailure: () => false,
    log: silentLog,
    serves: () => true,
    clock: Date.now,
  })
  connectWithRoles(directoryOfAccounts, async (source, names) => (source.userId === 'moderator' ? names : []))
  const agentServices = createAgentServices({
    environmentKinds: new Map(),
    platformToolsets: new Map(),
    home: createHomeLayout(home),
    log: silentLog,
    settings: () => ({
      ...settings,
      provider: 'none',
      reasoning_effort: undefined,
      max_output_tokens: undefined,
      api_mode: undefined,
    }),
    environment: () => ({
      values: { HOME: home, PATH: '/usr/bin:/bin' },
      file: {},
      process: {},
      originOf: () => undefined,
      issues: [],
      warnings: [],
    }),
    commandLine: ['true'],
    withheld: [],
    pluginTools: () => [],
    modelCalls: createModelCallMonitor({ log: silentLog }),
    auxiliaryCalls: agentDeps(),
    isShared: directoryOfAccounts.isShared,
    store: openStore(t).store,
    onSandbox: () => undefined,
    announceMissingSandbox: async () => undefined,
    redact: (text) => text,
  })

  async function allows(source: SessionSource, action: Action): Promise<boolean> {
    if (!directoryOfAccounts.access({ source }).allowed) return false
    if (action === 'write') return true
    const authority = directoryOfAccounts.authorityOf(source)
    if (action.startsWith('/')) {
      const command = commands.resolve(action.slice(1))
      assert.ok(command)
      return refuseCommand(command, authority, directoryOfAccounts.commandTiersOf(source)) === undefined
    }
    const event = { source, text: 'hello', messageType: 'text', timestamp: 0 } as const
    const tools = await agentServices.tools.forTurn({ sessionId: JSON.stringify(source), authority, event })
    const prepared = tools.prepare({ name: action, arguments: toolArguments[action] ?? '{}' })
    const isOffered = tools.schemas().some(({ name }) => name === action)
    assert.equal(isOffered, prepared.kind === 'ready' || directoryOfAccounts.isShared(source), 'the schema is filtered')
    if (prepared.kind === 'refused') assert.equal(prepared.code, 'not_allowed_for_role')
    else assert.equal(prepared.kind, 'ready')
    return prepared.kind === 'ready'
  }
  return { allows, close: agentServices.close, authorityOf: directoryOfAccounts.authorityOf }
}

const toolArguments: Readonly<Record<string, string>> = {
  read_file: '{"path":"a"}',
  write_file: '{"path":"a","content":"b"}',
  terminal: '{"command":"ls"}',
  delegate_task: '{"goal":"look"}',
}

test('a person may cause what the role permits, on every platform and in every kind of chat', async (t) => {
  const gateway = gatewayWith(t, tempHome(t))
  t.after(gateway.close)
  for (const platform of chatPlatforms) {
    for (const person of people) {
      await t.test(`${platform}: ${person}`, async () => {
        for (const place of places) {
          const source = sourceOf(platform, place, person)
          const permitted: Action[] = []
          for (const action of actions) if (await gateway.allows(source, action)) permitted.push(action)
          const wanted = actions.filter((action) => expected(place, person).includes(action))
          assert.deepEqual(permitted, wanted, place)
        }
      })
    }
  }
})

test('the terminal and the page of a person with the token are the owner', async (t) => {
  const gateway = gatewayWith(t, tempHome(t))
  t.after(gateway.close)
  for (const platform of ['web', 'cli', 'api_server']) {
    const source = { platform, account: 'default', chatId: 'c', chatType: 'dm' } as const
    if (catalogue.platforms.some(({ name }) => name === platform))
      assert.equal(gateway.authorityOf(source).role, 'owner', platform)
  }
})

test('without a configured owner, a user allowed by id is an owner, and a user let in by * is a guest', (t) => {
  const telegram = (settings: object) => ({ platforms: { telegram: { token: 't', ...settings } }, roles: {} })
  const roleIn = (changes: object) =>
    gatewayWith(t, tempHome(t), changes).authorityOf(sourceOf('telegram', 'direct message', 'member')).role
  assert.equal(roleIn(telegram({ allow_from: ['member'] })), 'owner')
  assert.equal(roleIn(telegram({ allow_from: ['*'] })), 'guest')
  assert.equal(roleIn(telegram({ allow_all_users: true })), 'guest')
  assert.equal(roleIn({ ...telegram({ allow_from: ['member'] }), roles: { owners: ['slack:x'] } }), 'member')
  assert.equal(roleIn({ ...telegram({ allow_from: ['*'] }), roles: { members: ['telegram:*'] } }), 'member')
  assert.equal(roleIn({ ...telegram({ allow_from: ['member'] }), roles: { guests: ['telegram:member'] } }), 'guest')
  const both = { owners: ['telegram:member'], guests: ['telegram:member'] }
  assert.equal(roleIn({ ...telegram({ allow_from: ['member'] }), roles: both }), 'guest', 'the lowest role counts')
})

test('the list of a chat replaces that of the role, also in its threads', async (t) => {
  const gateway = gatewayWith(t, tempHome(t), {
    roles: {
      owners: ['telegram:owner'],
      chats: { 'telegram:open': { guest: ['read_file'], member: ['*', '-terminal'] } },
    },
  })
  t.after(gateway.close)
  const inThread = (person: Person) => sourceOf('telegram', 'open thread', person)
  assert.equal(await gateway.allows(inThread('guest'), 'read_file'), true)
  assert.equal(await gateway.allows(inThread('guest'), 'todo'), false)
  assert.equal(await gateway.allows(inThread('member'), 'write_file'), true)
  assert.equal(await gateway.allows(inThread('member'), 'terminal'), false)
  assert.equal(await gateway.allows(sourceOf('telegram', 'closed group', 'member'), 'write_file'), false)
})
