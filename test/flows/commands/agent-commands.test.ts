import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { describedCommands } from '../../../src/app/built-in-commands.ts'
import type { CommandDefinition } from '../../../src/commands/command.ts'
import { createCommandRegistry } from '../../../src/commands/registry.ts'
import type { CommandTiers } from '../../../src/flows/access/command-ceiling.ts'
import { type AgentCommandDeps, runAgentCommand } from '../../../src/flows/commands/agent-commands.ts'
import type { CommandTurn } from '../../../src/flows/environments/sandbox-sockets.ts'
import { brand } from '../../../src/lib/ids.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { Role } from '../../../src/message/authority.ts'
import type { SessionKey } from '../../../src/message/ids.ts'
import type { ChatType } from '../../../src/message/source.ts'
import { startNewSession } from '../../../src/sessions/session-state.ts'
import { appendMessage } from '../../../src/sessions/transcript.ts'
import { createVisibleSessions } from '../../../src/store/sqlite/visible-sessions.ts'
import { allCommands } from '../../docs/generated/command-line.ts'
import { textOf } from '../../docs/repository.ts'
import { openStore } from '../../kit/open-store.ts'

function person(userId: string, chatType: ChatType = 'dm', role: Role = 'guest'): CommandTurn {
  const chatId = chatType === 'dm' ? userId : 'group'
  const place = { platform: 'fake', account: 'default', chatId, chatType, userId }
  return {
    seq: 1,
    sessionKey: brand<SessionKey>(`fake:${chatType}:${chatId}`),
    source: place,
    authority: { role, ...place },
  }
}

function run(turn: CommandTurn, line: string, more: Partial<AgentCommandDeps> = {}, tiers?: CommandTiers) {
  const deps: AgentCommandDeps = {
    commands: createCommandRegistry(describedCommands().map(answering)),
    accounts: { isShared: () => false, commandTiersOf: () => tiers },
    readSessions: async () => [],
    plugins: async () => ['otel  enabled'],
    hooks: () => ['audit  ready'],
    jobs: async () => ['morning  Report'],
    log: silentLog,
    ...more,
  }
  return runAgentCommand(deps, turn, line === '' ? [] : line.split(' '), new AbortController().signal)
}

function answering(command: CommandDefinition): CommandDefinition {
  return { ...command, run: async () => `/${command.name} ran` }
}

const forPeople = [
  ...['hooks accept audit', 'hooks accept --all', 'hooks new x', 'hooks test x', 'hooks pause x', 'hooks'],
  ...['plugins enable evil', 'plugins disable otel', 'plugins new x', 'plugins test x', 'plugins install x'],
  ...['approvals list', 'approvals revoke 1', 'approve always', 'deny', 'yolo', 'pairing approve fake 123456'],
  ...['pairing list', 'pairing revoke fake alice', 'pairing clear-pending', 'pairing approve fake ABCDEFGH --json'],
  ...['config set terminal.sandbox off', 'config show', 'config edit', 'web url', 'doctor', 'chat -q hello'],
  ...[
    'pause',
    'pause off',
    'gateway run',
    'gateway stop',
    'inbox list',
    'inbox retry 1',
    'outbox drop 1',
    'new',
    'stop',
  ],
  ...['sessions show fake:dm:alice', 'sessions', 'compress', 'cron add x', 'constructor', '__proto__ list', 'STATUS'],
]

test('what accepts, enables, approves, pairs, configures or shows a token is refused, also for an owner', async () => {
  for (const line of forPeople)
    for (const role of ['owner', 'guest'] as const) {
      const { output, errors, exitCode } = await run(person('alice', 'dm', role), line)
      assert.deepEqual([output, exitCode], ['', 77], line)
      assert.match(errors, /^hermes: .+\.\n$/, line)
    }
})

const noTiers = { adminFrom: [], groupAdminFrom: [], userAllowedCommands: [], groupUserAllowedCommands: [] }

test('what only shows something runs, as far as the person could use it as a slash command', async () => {
  const outputOf = async (...of: Parameters<typeof run>) => {
    const { output, exitCode } = await run(...of)
    return exitCode === 0 ? output : exitCode
  }
  const tiers = { ...noTiers, adminFrom: ['boss'], userAllowedCommands: ['version'] }
  assert.equal(await outputOf(person('alice'), 'version'), '/version ran\n')
  assert.equal(await outputOf(person('alice'), '--version', {}, tiers), '/version ran\n')
  assert.equal(await outputOf(person('alice'), 'sessions list', {}, tiers), 77)
  assert.equal(await outputOf(person('alice'), 'plugins list'), 77)
  assert.equal(await outputOf(person('alice', 'dm', 'owner'), 'plugins list', {}, tiers), 'otel  enabled\n')
  assert.equal(await outputOf(person('alice', 'dm', 'owner'), 'hooks list'), 'audit  ready\n')
  assert.match(String(await outputOf(person('alice'), '')), /hermes sessions search/)
})

test('the security page names each command that the token of a turn permits', async () => {
  const { output } = await run(person('alice', 'dm', 'owner'), 'help')
  const permitted = [...output.matchAll(/^ {2}hermes (.+?) — /gm)].map(([, words = '']) => words)
  const [, section = ''] =
    /^### The token of a turn\n([\s\S]*?)^## /m.exec(textOf('docs/explanation/security.md')) ?? []
  assert.match(section, /HERMES_TURN_TOKEN/)
  const [, row = ''] = /^\| runs \|(.*)\|$/m.exec(section) ?? []
  const named = [...row.matchAll(/`([^`]+)`/g)].map(([, words = '']) => words)
  assert.deepEqual(named.toSorted(), permitted.toSorted())
})

test('a command of the complete `hermes` that is not permitted is refused, also for an owner', async () => {
  const permitted = /^(?:(?:gateway )?status|version|cron list|sessions (?:list|search)|plugins list|hooks list)$/
  const lines = allCommands()
    .map(({ words }) => words.slice(1).join(' '))
    .filter((line) => line !== '' && !permitted.test(line))
  assert.ok(lines.length > 60, `only ${lines.length}`)
  for (const line of lines) assert.equal((await run(person('boss', 'dm', 'owner'), line)).exitCode, 77, line)
})

test('wrong options are a usage error', async () => {
  for (const line of ['sessions search', 'sessions list --limit 0', 'sessions list --limit x', 'sessions list --all'])
    assert.equal((await run(person('alice'), line)).exitCode, 2, line)
})

async function withConversations(t: TestContext) {
  const { store, path: database } = openStore(t)
  const conversations = [
    { ...person('alice'), account: 'default' },
    { ...person('alice'), sessionKey: 'fake:dm:alice:other-thread', account: 'default' },
    { ...person('alice'), sessionKey: 'fake:dm:alice:other-bot', account: 'second' },
    { ...person('bob'), account: 'default' },
    { ...person('alice', 'group'), account: 'default' },
  ]
  await store.run(function* () {
    for (const { sessionKey: key, source, account } of conversations) {
      const start = { key, source: JSON.stringify({ ...source, account }), platform: 'fake', userId: '', now: 1 }
      yield* startNewSession({ ...start, newSessionId: key }, '')
      const message = { role: 'user', content: 'plant tulips' } as const
      yield* appendMessage({ sessionId: key, turnId: null, ord: 0, message }, 1)
    }
  })
  const readSessions = createVisibleSessions(database).list
  return async (turn: CommandTurn, line: string) => {
    const { output } = await run(turn, line, { readSessions })
    const rows: { session: string; text: string }[] = JSON.parse(output)
    return rows.map(({ session }) => session).sort()
  }
}

test('a person sees the own direct messages with this bot there, and in a group only the group', async (t) => {
  const sessionsOf = await withConversations(t)
  const own = ['fake:dm:alice', 'fake:dm:alice:other-thread']
  assert.deepEqual(await sessionsOf(person('alice'), 'sessions list --json'), own)
  assert.deepEqual(await sessionsOf(person('alice', 'dm', 'owner'), 'sessions search --json tulips'), own)
  assert.deepEqual(await sessionsOf(person('bob'), 'sessions search --json tulips'), ['fake:dm:bob'])
  assert.deepEqual(await sessionsOf(person('alice', 'group'), 'sessions search --json tulips'), ['fake:group:group'])
  assert.deepEqual(await sessionsOf(person(''), 'sessions search --json tulips" OR *'), [])
})
