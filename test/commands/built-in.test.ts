import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { describedCommands } from '../../src/app/built-in-commands.ts'
import type { Questions } from '../../src/approvals/questions.ts'
import {
  commandsCommand,
  helpCommand,
  startCommand,
  statusCommand,
  versionCommand,
  whoamiCommand,
} from '../../src/commands/built-in/information.ts'
import {
  approveCommand,
  compressCommand,
  denyCommand,
  newCommand,
  stopCommand,
} from '../../src/commands/built-in/session.ts'
import type { Command, CommandDefinition } from '../../src/commands/command.ts'
import type { CommandList, GatewayStatus, StatusReport } from '../../src/commands/gateway.ts'
import { createCommandRegistry } from '../../src/commands/registry.ts'
import type { SessionCompressor, SessionReset, SessionStatus, StopControl } from '../../src/commands/session.ts'
import { createEmbeddedEngine } from '../../src/engine/embedded-engine.ts'
import { createSessionServices } from '../../src/flows/sessions/session-services.ts'
import { createTurnJournal } from '../../src/flows/turn/journal.ts'
import { createEventResults } from '../../src/inbox/inbox.ts'
import { acceptEvent } from '../../src/inbox/queries.ts'
import { brand } from '../../src/lib/ids.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import type { SessionSource } from '../../src/message/source.ts'
import { createRunningTurns, StopRequested } from '../../src/sessions/running-turns.ts'
import type { TransactionPart } from '../../src/store/query.ts'
import { ownerAuthority } from '../kit/authority.ts'
import { createManualClock } from '../kit/manual-clock.ts'
import { openStore } from '../kit/open-store.ts'

const key = brand<SessionKey>('agent:main:chat:dm:c')
const source: SessionSource = {
  platform: 'chat',
  account: 'bot',
  chatId: 'c',
  chatType: 'dm',
  userId: 'u7',
  userName: 'Ada',
}
const registry = createCommandRegistry(describedCommands())
const gateway: GatewayStatus = {
  model: 'm-1',
  provider: 'openai',
  uptimeMs: 125_000,
  platforms: { web: { state: 'connected' }, chat: { state: 'failed', reason: 'no token' } },
  degraded: [],
  background: [],
}
const unused: SessionStatus = {
  sessionId: null,
  title: '',
  startedAt: null,
  messages: 0,
  running: false,
  queued: 0,
  inputTokens: 0,
  outputTokens: 0,
  spent: { tokens: 0, unpricedTokens: 0, cost: 0 },
}

function statusReport(more: Partial<StatusReport> = {}): StatusReport {
  return {
    session: async () => unused,
    gateway: () => gateway,
    modelOf: async () => gateway,
    pendingQuestion: async () => undefined,
    isYolo: async () => false,
    homeChannels: async () => [],
    modelKeys: async () => [],
    ...more,
  }
}

const allCommands: CommandList = { commands: registry.list, skills: async () => [] }

function reply(text: string): TransactionPart<string> {
  return {
    // biome-ignore lint/correctness/useYield: a transaction without a query
    *write() {
      return text
    },
  }
}

function definition(name: string, aliases: string[] = [], description = ''): CommandDefinition {
  return { name, aliases, description, argsHint: '', queue: 'control', run: async () => '' }
}

async function say<Port>(command: Command<Port>, port: Port, args = '', from: SessionSource = source): Promise<string> {
  const result = await run(command, port, args, from)
  return typeof result === 'string' ? result : assert.fail(`/${command.name} ends with something to store`)
}

async function run<Port>(command: Command<Port>, port: Port, args = '', from: SessionSource = source) {
  const { name } = command
  const { signal } = new AbortController()
  const call = { source: from, authority: ownerAuthority, sessionKey: key, name, args, rawCommand: name, signal }
  return await command.run(call, port)
}

/** The commands on a real store, with a queued message of this session. */
async function realSession(t: TestContext) {
  const { store } = openStore(t)
  const clock = createManualClock()
  const runningTurns = createRunningTurns()
  const engine = createEmbeddedEngine({
    log: silentLog,
    random: () => 0,
    settings: () => ({ agent: { max_concurrent_turns: 1 } }),
  })
  const emitted: string[] = []
  const sessions = createSessionServices({
    store,
    engine,
    runningTurns,
    turnResults: createEventResults(store),
    emit: (name) => emitted.push(name),
    clock: clock.now,
    emitsEvents: () => true,
  })
  const journal = createTurnJournal({
    store,
    clock: clock.now,
    isShared: () => false,
    authorityOf: () => ownerAuthority,
    routeOf: () => '',
    onProgress: () => undefined,
  })
  const accept = (text: string) =>
    store.run(() =>
      acceptEvent(
        {
          sessionKey: key,
          lane: 'turn',
          kind: 'text',
          platform: 'chat',
          account: 'bot',
          chatId: 'c',
          payload: JSON.stringify({ source, text, messageType: 'text', timestamp: 1 }),
        },
        [text],
        clock.now(),
      ),
    )
  await accept('hello')
  const claim = await journal.claim(key)
  assert.equal(claim?.kind, 'model')
  const tasks: StopControl['tasks'] = () => assert.fail('unexpected use of tasks')
  const stop: StopControl = { stopTurn: (stopped) => sessions.stopTurn(stopped), tasks }
  return { sessions, stop, running: runningTurns, turn: claim.turn, journal, emitted, accept }
}

test('commands are found by name and alias only', () => {
  const names = registry.list().flatMap(({ name, aliases }) => [name, ...aliases])
  assert.equal(new Set(names).size, names.length, 'each name belongs to one command')
  // Menus are short, so what people need first comes first.
  assert.deepEqual(names.slice(0, 4), ['start', 'new', 'reset', 'stop'])
  assert.equal(registry.resolve('reset')?.name, 'new')
  assert.equal(registry.resolve('v')?.name, 'version')
  assert.equal(registry.resolve('compact')?.name, 'compress')
  for (const name of ['', 'sto', 'stopp', 'toString', '__proto__', 'constructor']) {
    assert.equal(registry.resolve(name), undefined, name)
  }
})

test('every built-in command runs at once, also during a turn', () => {
  for (const { name, queue } of registry.list()) assert.equal(queue, 'control', name)
})

test('/compress queues a compression with its focus, and replies when a turn is running', async () => {
  const orders: unknown[] = []
  const compressing = (status: Partial<SessionStatus>): SessionCompressor => ({
    status: async () => ({ ...unused, messages: 4, ...status }),
    compress(of, from, order) {
      orders.push({ of, platform: from.platform, focus: order.focus, replies: order.says !== '' })
      return reply(order.says)
    },
  })
  await run(compressCommand, compressing({}))
  await run(compressCommand, compressing({ running: true }), 'roses '.repeat(100))
  assert.deepEqual(orders, [
    { of: key, platform: 'chat', focus: '', replies: false },
    { of: key, platform: 'chat', focus: 'roses '.repeat(100).slice(0, 500), replies: true },
  ])
})

test('/compress replies at once and compresses nothing before the first message', async () => {
  const compress = () => assert.fail('unexpected compression')
  assert.notEqual(await say(compressCommand, { status: async () => unused, compress }), '')
})

test('the first command with a name keeps it', () => {
  const crowded = createCommandRegistry([definition('stop', [], 'ours'), definition('halt', ['stop'], 'theirs')])
  assert.equal(crowded.resolve('stop')?.description, 'ours')
  assert.equal(crowded.resolve('halt')?.description, 'theirs')
})

test('/help lists every command with its description', async () => {
  const text = await say(helpCommand, allCommands)
  for (const { name, description } of registry.list()) {
    assert.match(text, new RegExp(`^- \`/${name}.*${description}`, 'm'))
  }
  const line = text.split('\n').find((one) => one.startsWith('- `/new ')) ?? ''
  assert.ok(line.startsWith('- `/new [name]`') && line.includes('/reset'), 'with its arguments and aliases')
})

test('/commands shows twenty commands per page and accepts any page number', async () => {
  const listing = (commands: readonly CommandDefinition[]) => ({ ...allCommands, commands: () => commands })
  const given = listing(Array.from({ length: 45 }, (_, index) => definition(`c${index}`)))
  const linesOf = async (page: string) =>
    (await say(commandsCommand, given, page)).split('\n').filter((line) => line.startsWith('- '))
  assert.equal((await linesOf('')).length, 20)
  assert.match((await linesOf('2'))[0] ?? '', /c20/)
  assert.equal((await linesOf('3')).length, 5)
  assert.match(await say(commandsCommand, given, '3'), /\b3\b.*\b3\b/)
  for (const odd of ['99', '-1', '0', 'x', '1e9', '2.5']) assert.ok((await linesOf(odd)).length > 0, odd)
  assert.match(await say(commandsCommand, listing([])), /\b1\b.*\b1\b/)
})

test('/version shows the running version', async () => {
  assert.equal(await say(versionCommand, '1.2.3'), 'hermes-gateway 1.2.3')
})

test('/whoami shows how the gateway identifies the user', async () => {
  const permissions = { role: 'owner' as const, tools: ['*', '-terminal'], commands: ['help', 'whoami'] }
  const access = { reason: () => 'reason', permissions: () => permissions }
  const text = await say(whoamiCommand, access)
  for (const part of ['Ada', '`u7`', 'chat', 'dm', key, 'reason']) assert.ok(text.includes(part), part)
  const bare = await say(whoamiCommand, access, '', {
    platform: 'chat',
    account: 'bot',
    chatId: 'c',
    chatType: 'group',
    threadId: '9',
  })
  assert.match(bare, /`9`/, 'the thread')
  assert.doesNotMatch(bare, /undefined/)
})

test('/status shows the session, the model, the platforms and problems', async () => {
  const given = statusReport({
    session: async () => ({
      ...unused,
      sessionId: brand('20260102_030405_0a1b2c3d'),
      title: 'Taxes',
      messages: 12,
      running: true,
      queued: 2,
      inputTokens: 1_000,
      outputTokens: 50,
    }),
    gateway: () => ({ ...gateway, degraded: ['disk: commits are slow'] }),
  })
  const text = await say(statusCommand, given)
  for (const part of [
    '20260102_030405_0a1b2c3d',
    'Taxes',
    'working, 2 ',
    '**Messages** 12',
    '1000 in, 50 out',
    'm-1 (openai)',
  ]) {
    assert.ok(text.includes(part), part)
  }
  assert.match(text, /web \(connected\), chat \(failed\)/)
  assert.match(text, /⚠️ disk: commits are slow/)
})

test('/status shows whether a platform receives messages, if it reports this', async () => {
  const platforms = {
    chat: { state: 'connected', receiving: true },
    deaf: { state: 'connected', receiving: false },
    gone: { state: 'failed', reason: 'no token', receiving: false },
    web: { state: 'connected' },
  }
  const text = await say(statusCommand, statusReport({ gateway: () => ({ ...gateway, platforms }) }))
  const expected = 'chat (connected, receiving), deaf (connected, not receiving), gone (failed), web (connected)'
  assert.ok(text.includes(expected), text)
})

test('/status shows the keys of providers to an owner in a direct message only', async () => {
  const given = statusReport({ modelKeys: async () => ['openai: 2 keys'] })
  assert.match(await say(statusCommand, given), /openai: 2 keys/)
  assert.doesNotMatch(await say(statusCommand, given, '', { ...source, chatType: 'group' }), /openai: 2 keys/)
})

test('/status lists background tasks', async () => {
  assert.doesNotMatch(await say(statusCommand, statusReport()), /boot-md|\(`bg_/)
  const background = [{ id: 'bg_120000_0a1b2c3d', by: 'hook boot-md', ageMs: 1_000 }]
  const text = await say(statusCommand, statusReport({ gateway: () => ({ ...gateway, background }) }))
  assert.match(text, /\bhook boot-md \(`bg_120000_0a1b2c3d`\)/)
})

test('/status works before the first message and without a model', async () => {
  const none = { ...gateway, model: '', provider: 'demo', platforms: {} }
  const given = statusReport({ gateway: () => none, modelOf: async () => none })
  const text = await say(statusCommand, given)
  assert.match(text, /\*\* demo\b/)
  assert.doesNotMatch(text, /undefined|null|``/)
})

test('/status shows the uptime', async () => {
  const times: [number, string][] = [
    [0, '0 s'],
    [59_999, '59 s'],
    [125_000, '2 min'],
    [3_600_000, '1 h'],
    [90_000_000, '1 d 1 h'],
  ]
  for (const [uptimeMs, words] of times) {
    const text = await say(statusCommand, statusReport({ gateway: () => ({ ...gateway, uptimeMs }) }))
    assert.ok(text.includes(`**up** ${words}`), words)
  }
})

test('/stop stops the running turn, and replies when there is none', async (t) => {
  const { stop, running, turn, journal } = await realSession(t)
  const turnRun = running.start(key, turn.seq, new AbortController().signal)
  turnRun.signal.addEventListener('abort', () => turnRun.finish(), { once: true })
  assert.match(await say(stopCommand, stop), /^⏹/)
  assert.ok(turnRun.signal.reason instanceof StopRequested)
  const claim = await journal.claim(key)
  assert.equal(claim?.kind, 'stopped', 'not even a crash brings it back')
  assert.match(await say(stopCommand, { ...stop, stopTurn: async () => 'idle' }), /^[^⏹]/u)
})

test('/stop also stops a turn in back-off', async (t) => {
  const { stop } = await realSession(t)
  assert.match(await say(stopCommand, stop), /^⏹/)
})

test('/new stops the turn and starts a new session, which handles the queued messages', async (t) => {
  const { sessions, running, turn, journal, emitted, accept } = await realSession(t)
  const turnRun = running.start(key, turn.seq, new AbortController().signal)
  turnRun.signal.addEventListener('abort', () => turnRun.finish(), { once: true })
  await accept('and another thing')
  assert.match(
    await say(newCommand, { reset: sessions.resetSession, withhold: (text) => text }, 'Taxes'),
    /^✨.*\bTaxes$/,
  )
  assert.equal(turnRun.signal.aborted, true)
  assert.deepEqual(emitted, ['session:end', 'agent:end', 'session:reset'])
  const claim = await journal.claim(key)
  assert.equal(claim?.kind, 'model')
  assert.notEqual(claim.turn.sessionId, turn.sessionId)
  assert.equal(claim.turn.firstOfSession, true)
  assert.deepEqual(
    claim.turn.transcript.map(({ message }) => message.content),
    ['and another thing'],
  )
  const status = await sessions.sessionStatus(key)
  assert.deepEqual([status.sessionId, status.title, status.messages], [claim.turn.sessionId, 'Taxes', 1])
})

test('/new needs no name', async () => {
  const given: string[] = []
  const reset: SessionReset['reset'] = async (_key, _source, title) => {
    given.push(title)
    return brand('s')
  }
  assert.match(await say(newCommand, { reset, withhold: (text) => text }), /^✨/)
  assert.deepEqual(given, [''])
})

test('/approve and /deny answer the pending question', async () => {
  const answers: unknown[] = []
  const answerTyped: Questions['answerTyped'] = (_key, { words, all, reason }) => {
    answers.push([words, all, reason])
    return { write: () => assert.fail('not here') }
  }
  for (const args of ['', 'always', 'SESSION', 'all']) await run(approveCommand, { answerTyped }, args)
  for (const args of ['', 'all', 'All too dear']) await run(denyCommand, { answerTyped }, args)
  assert.deepEqual(answers, [
    ['approve', false, ''],
    ['approve always', false, ''],
    ['approve session', false, ''],
    ['approve', true, ''],
    ['deny', false, ''],
    ['deny', true, ''],
    ['deny', true, 'too dear'],
  ])
  await run(denyCommand, { answerTyped }, 'allow me to think')
  assert.deepEqual(answers.at(-1), ['deny', false, 'allow me to think'])
  assert.match(await say(approveCommand, { answerTyped }, 'everything'), /`\/approve`.*`session`.*`always`.*`all`/)
})

test('/status shows the first line of the pending question', async () => {
  const pendingQuestion = async () => '`/new` ends this conversation. Go on?\n\nmore'
  assert.match(
    await say(statusCommand, statusReport({ pendingQuestion })),
    /^\*\*[^*]+\*\* `\/new` ends this conversation\. Go on\? {2}$/m,
  )
})

test('/start introduces the agent and names /help', async () => {
  assert.match(await say(startCommand, { modelOf: async () => gateway }), /m-1.*\/help/s)
})
