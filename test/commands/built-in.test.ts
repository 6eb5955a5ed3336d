import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type {
  CommandDefinition,
  CommandReply,
  CommandServices,
  GatewayStatus,
  SessionStatus,
} from '../../src/commands/command.ts'
import { createCommandRegistry } from '../../src/commands/registry.ts'
import { createEmbeddedEngine } from '../../src/engine/embedded-engine.ts'
import { createSessionServices } from '../../src/flows/sessions/session-services.ts'
import { createTurnJournal } from '../../src/flows/turn/journal.ts'
import { createEventResults } from '../../src/inbox/event-results.ts'
import { acceptEvent } from '../../src/inbox/queries.ts'
import { brand } from '../../src/lib/ids.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import type { SessionSource } from '../../src/message/source.ts'
import { createRunningTurns, StopRequested } from '../../src/sessions/running-turns.ts'
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
const registry = createCommandRegistry()
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

function services(more: Partial<CommandServices> = {}): CommandServices {
  return {
    version: '1.2.3',
    commands: registry.list,
    skillCommands: async () => [],
    stopTurn: async () => 'idle',
    resetSession: async () => brand('s'),
    sessionStatus: async () => unused,
    homeChannels: async () => [],
    modelKeys: async () => [],
    checkpoints: () => assert.fail('unexpected use of checkpoints'),
    conversations: () => assert.fail('unexpected use of conversations'),
    tasks: () => assert.fail('unexpected use of tasks'),
    jobs: () => assert.fail('unexpected use of jobs'),
    settings: () => assert.fail('unexpected use'),
    changeSetting: () => assert.fail('unexpected use'),
    choices: () => assert.fail('unexpected use'),
    display: () => assert.fail('unexpected use'),
    installation: () => assert.fail('unexpected use'),
    voices: () => assert.fail('unexpected use'),
    redact: () => assert.fail('unexpected use'),
    withhold: (text) => text,
    busyModes: () => assert.fail('unexpected use of busyModes'),
    runQuickCommand: () => assert.fail('unexpected use'),
    compressSession: () => assert.fail('unexpected compression'),
    gatewayStatus: () => gateway,
    models: () => assert.fail('unexpected use of models'),
    modelOf: async () => ({ ...gateway, contextLength: 128_000 }),
    answerQuestion: () => assert.fail('unexpected answer'),
    pendingQuestion: async () => undefined,
    toggleYolo: async () => true,
    isYolo: async () => false,
    accessReason: () => 'the user is on the allow list',
    permissionsOf: async ({ role }) => ({ role, tools: ['*', '-terminal'], commands: ['help', 'whoami'] }),
    gatewayAdmin: () => assert.fail('unexpected use of gatewayAdmin'),
    reloadMcp: () => assert.fail('unexpected start of MCP servers'),
    pauseAgent: () => assert.fail('unexpected pause'),
    resumeAgent: () => assert.fail('unexpected end of a pause'),
    ...more,
  }
}

function reply(text: string): CommandReply {
  return {
    // biome-ignore lint/correctness/useYield: a transaction without a query
    *write() {
      return text
    },
    committed: () => undefined,
    abandoned: () => undefined,
  }
}

function definition(name: string, aliases: string[] = [], description = ''): CommandDefinition {
  return { name, aliases, description, argsHint: '', queue: 'control', run: async () => '' }
}

async function say(typed: string, given: CommandServices = services(), from: SessionSource = source): Promise<string> {
  const result = await run(typed, given, from)
  return typeof result === 'string' ? result : assert.fail(`${typed} ends with something to store`)
}

async function run(typed: string, given: CommandServices, from: SessionSource = source) {
  const [, name = '', args = ''] = /^\/(\S+)\s*(.*)$/s.exec(typed) ?? []
  const definition = registry.resolve(name)
  assert.ok(definition, `unknown command ${typed}`)
  const context = {
    source: from,
    authority: ownerAuthority,
    sessionKey: key,
    name: definition.name,
    args,
    rawCommand: name,
  }
  return await definition.run({ ...context, signal: new AbortController().signal }, given)
}

/** The commands on a real store, with a queued message of this session. */
async function realSession(t: TestContext) {
  const { store } = openStore(t)
  const clock = createManualClock()
  const runningTurns = createRunningTurns()
  const engine = createEmbeddedEngine({ log: silentLog, random: () => 0, concurrency: () => 1 })
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
  const given = services({ ...sessions, stopTurn: (stopped) => sessions.stopTurn(stopped) })
  return { given, running: runningTurns, turn: claim.turn, journal, emitted, accept }
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
  const compressing = (status: Partial<SessionStatus>) =>
    services({
      sessionStatus: async () => ({ ...unused, messages: 4, ...status }),
      compressSession: (of, from, order) => {
        orders.push({ of, platform: from.platform, focus: order.focus, replies: order.says !== '' })
        return reply(order.says)
      },
    })
  await run('/compress', compressing({}))
  await run(`/compact ${'roses '.repeat(100)}`, compressing({ running: true }))
  assert.deepEqual(orders, [
    { of: key, platform: 'chat', focus: '', replies: false },
    { of: key, platform: 'chat', focus: 'roses '.repeat(100).slice(0, 500), replies: true },
  ])
})

test('/compress replies at once and compresses nothing before the first message', async () => {
  assert.notEqual(await say('/compress'), '')
})

test('the first command with a name keeps it', () => {
  const crowded = createCommandRegistry([definition('stop', [], 'ours'), definition('halt', ['stop'], 'theirs')])
  assert.equal(crowded.resolve('stop')?.description, 'ours')
  assert.equal(crowded.resolve('halt')?.description, 'theirs')
})

test('/help lists every command with its description', async () => {
  const text = await say('/help')
  for (const { name, description } of registry.list()) {
    assert.match(text, new RegExp(`^- \`/${name}.*${description}`, 'm'))
  }
  const line = text.split('\n').find((one) => one.startsWith('- `/new ')) ?? ''
  assert.ok(line.startsWith('- `/new [name]`') && line.includes('/reset'), 'with its arguments and aliases')
})

test('/commands shows twenty commands per page and accepts any page number', async () => {
  const given = services({ commands: () => Array.from({ length: 45 }, (_, index) => definition(`c${index}`)) })
  const linesOf = async (typed: string) => (await say(typed, given)).split('\n').filter((line) => line.startsWith('- '))
  assert.equal((await linesOf('/commands')).length, 20)
  assert.match((await linesOf('/commands 2'))[0] ?? '', /c20/)
  assert.equal((await linesOf('/commands 3')).length, 5)
  assert.match(await say('/commands 3', given), /\b3\b.*\b3\b/)
  for (const odd of ['99', '-1', '0', 'x', '1e9', '2.5']) assert.ok((await linesOf(`/commands ${odd}`)).length > 0, odd)
  assert.match(await say('/commands', services({ commands: () => [] })), /\b1\b.*\b1\b/)
})

test('/version shows the running version', async () => {
  assert.equal(await say('/version'), 'hermes-gateway 1.2.3')
  assert.equal(await say('/v'), 'hermes-gateway 1.2.3')
})

test('/whoami shows how the gateway identifies the user', async () => {
  const text = await say('/whoami', services({ accessReason: () => 'reason' }))
  for (const part of ['Ada', '`u7`', 'chat', 'dm', key, 'reason']) assert.ok(text.includes(part), part)
  const bare = await say('/whoami', services(), {
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
  const given = services({
    sessionStatus: async () => ({
      ...unused,
      sessionId: brand('20260102_030405_0a1b2c3d'),
      title: 'Taxes',
      messages: 12,
      running: true,
      queued: 2,
      inputTokens: 1_000,
      outputTokens: 50,
    }),
    gatewayStatus: () => ({ ...gateway, degraded: ['disk: commits are slow'] }),
  })
  const text = await say('/status', given)
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
  const text = await say('/status', services({ gatewayStatus: () => ({ ...gateway, platforms }) }))
  const expected = 'chat (connected, receiving), deaf (connected, not receiving), gone (failed), web (connected)'
  assert.ok(text.includes(expected), text)
})

test('/status shows the keys of providers to an owner in a direct message only', async () => {
  const given = services({ modelKeys: async () => ['openai: 2 keys'] })
  assert.match(await say('/status', given), /openai: 2 keys/)
  assert.doesNotMatch(await say('/status', given, { ...source, chatType: 'group' }), /openai: 2 keys/)
})

test('/status lists background tasks', async () => {
  assert.doesNotMatch(await say('/status'), /boot-md|\(`bg_/)
  const background = [{ id: 'bg_120000_0a1b2c3d', by: 'hook boot-md', ageMs: 1_000 }]
  const text = await say('/status', services({ gatewayStatus: () => ({ ...gateway, background }) }))
  assert.match(text, /\bhook boot-md \(`bg_120000_0a1b2c3d`\)/)
})

test('/status works before the first message and without a model', async () => {
  const none = { ...gateway, model: '', provider: 'demo', platforms: {} }
  const given = services({ gatewayStatus: () => none, modelOf: async () => ({ ...none, contextLength: 128_000 }) })
  const text = await say('/status', given)
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
    const text = await say('/status', services({ gatewayStatus: () => ({ ...gateway, uptimeMs }) }))
    assert.ok(text.includes(`**up** ${words}`), words)
  }
})

test('/stop stops the running turn, and replies when there is none', async (t) => {
  const { given, running, turn, journal } = await realSession(t)
  const turnRun = running.start(key, turn.seq, new AbortController().signal)
  turnRun.signal.addEventListener('abort', () => turnRun.finish(), { once: true })
  assert.match(await say('/stop', given), /^⏹/)
  assert.ok(turnRun.signal.reason instanceof StopRequested)
  const claim = await journal.claim(key)
  assert.equal(claim?.kind, 'stopped', 'not even a crash brings it back')
  assert.match(await say('/stop'), /^[^⏹]/u)
})

test('/stop also stops a turn in back-off', async (t) => {
  const { given } = await realSession(t)
  assert.match(await say('/stop', given), /^⏹/)
})

test('/new stops the turn and starts a new session, which handles the queued messages', async (t) => {
  const { given, running, turn, journal, emitted, accept } = await realSession(t)
  const turnRun = running.start(key, turn.seq, new AbortController().signal)
  turnRun.signal.addEventListener('abort', () => turnRun.finish(), { once: true })
  await accept('and another thing')
  assert.match(await say('/new Taxes', given), /^✨.*\bTaxes$/)
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
  const status = await given.sessionStatus(key)
  assert.deepEqual([status.sessionId, status.title, status.messages], [claim.turn.sessionId, 'Taxes', 1])
})

test('/reset is an alias of /new and needs no name', async () => {
  const given: string[] = []
  const resetSession: CommandServices['resetSession'] = async (_key, _source, title) => {
    given.push(title)
    return brand('s')
  }
  assert.match(await say('/reset', services({ resetSession })), /^✨/)
  assert.deepEqual(given, [''])
})

test('/approve and /deny answer the pending question', async () => {
  const answers: unknown[] = []
  const answerQuestion: CommandServices['answerQuestion'] = (_key, { words, all, reason }) => {
    answers.push([words, all, reason])
    return { write: () => assert.fail('not here'), committed: () => undefined, abandoned: () => undefined }
  }
  for (const typed of [
    '/approve',
    '/approve always',
    '/approve SESSION',
    '/approve all',
    '/deny',
    '/deny all',
    '/deny All too dear',
  ]) {
    await run(typed, services({ answerQuestion }))
  }
  assert.deepEqual(answers, [
    ['approve', false, ''],
    ['approve always', false, ''],
    ['approve session', false, ''],
    ['approve', true, ''],
    ['deny', false, ''],
    ['deny', true, ''],
    ['deny', true, 'too dear'],
  ])
  await run('/deny allow me to think', services({ answerQuestion }))
  assert.deepEqual(answers.at(-1), ['deny', false, 'allow me to think'])
  assert.match(await say('/approve everything'), /`\/approve`.*`session`.*`always`.*`all`/)
})

test('/status shows the first line of the pending question', async () => {
  const pendingQuestion = async () => ({ text: '`/new` ends this conversation. Go on?\n\nmore', expiresAt: 1 })
  assert.match(
    await say('/status', services({ pendingQuestion })),
    /^\*\*[^*]+\*\* `\/new` ends this conversation\. Go on\? {2}$/m,
  )
})

test('/start introduces the agent and names /help', async () => {
  assert.match(await say('/start'), /m-1.*\/help/s)
})
