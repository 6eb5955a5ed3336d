/**
 * The crash scenario: users write, the gateway is killed at a failpoint and starts again. No message may be lost, and no
 * duplicate may be sent without a label.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { auditInbox } from '../../src/inbox/audit.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import { createPng } from '../kit/pictures.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { createChatGateway } from './chat-gateway.ts'
import { windowTokens } from './chat-home.ts'
import type { ChatServer, SentMessage } from './chat-server.ts'

/** A failpoint at which the process is killed. `hits`: how often the scenario reaches it, at least. */
export interface KillPoint {
  readonly name: string
  readonly hits: number
  /** An earlier kill, so that there is something to recover. */
  readonly after?: string
  /** True: the daemon receives SIGTERM while it works. */
  readonly drain?: boolean
  /** True: a person without access writes, too. At most three rounds of a home can have one. */
  readonly stranger?: boolean
  /** True: the agent sends a message to another chat. */
  readonly sends?: boolean
  /** True: the agent writes a fact to its memory. */
  readonly remembers?: true
  /** True: the agent writes a skill. */
  readonly learns?: true
  /** True: the provider refuses a key, and the turn goes on with another one. */
  readonly rotates?: true
  /** True: the agent starts a sub-agent in the background. */
  readonly delegates?: boolean
  /** A turn outgrows the window, or a conversation does, which then goes on in a session of its own. */
  readonly compresses?: 'turn' | 'conversation'
  /** The point concerns commands or pictures, which a short conversation leaves out elsewhere. */
  readonly isSpecial?: true
  /** People write during a turn, and their messages do this. */
  readonly busy?: 'interrupt' | 'collect' | 'steer'
}

export const killPoints: readonly KillPoint[] = [
  { name: 'inbox:before-commit', hits: 4 },
  { name: 'inbox:committed', hits: 4 },
  { name: 'wire:acknowledged', hits: 2 },
  { name: 'turn:before-claim', hits: 3 },
  { name: 'media:fetched', hits: 1, isSpecial: true },
  { name: 'turn:claimed', hits: 3 },
  { name: 'agent:streaming', hits: 8 },
  { name: 'agent:answered', hits: 2 },
  { name: 'agent:answer-stored', hits: 2 },
  { name: 'tool:started', hits: 2 },
  { name: 'tool:effect-done', hits: 2 },
  { name: 'tool:recorded', hits: 2 },
  { name: 'draft:sent', hits: 3 },
  { name: 'draft:stored', hits: 3 },
  { name: 'turn:before-finish', hits: 3 },
  { name: 'turn:finished', hits: 3 },
  { name: 'outbox:claimed', hits: 5 },
  { name: 'outbox:accepted', hits: 5 },
  { name: 'outbox:settled', hits: 5 },
  { name: 'wire:before-send', hits: 5 },
  { name: 'wire:after-send', hits: 5 },
  { name: 'command:claimed', hits: 4, isSpecial: true },
  { name: 'command:done', hits: 4, isSpecial: true },
  { name: 'question:answered', hits: 1, isSpecial: true },
  { name: 'pairing:requested', hits: 1, stranger: true },
  { name: 'pairing:replied', hits: 1, stranger: true },
  { name: 'turn:interrupting', hits: 1, busy: 'interrupt' },
  { name: 'turn:interrupted', hits: 1, busy: 'interrupt' },
  { name: 'turn:merged', hits: 1, busy: 'collect' },
  { name: 'turn:steered', hits: 1, busy: 'steer' },
  { name: 'send:prepared', hits: 1, sends: true },
  { name: 'send:stored', hits: 1, sends: true },
  { name: 'memory:prepared', hits: 1, remembers: true },
  { name: 'memory:written', hits: 1, remembers: true },
  { name: 'skill:before-write', hits: 1, learns: true },
  { name: 'skill:written', hits: 1, learns: true },
  { name: 'credentials:rotated', hits: 1, rotates: true },
  { name: 'credentials:stored', hits: 1, rotates: true },
  { name: 'delegation:started', hits: 1, delegates: true },
  { name: 'delegation:before-hand-in', hits: 1, delegates: true },
  { name: 'delegation:handed-in', hits: 1, delegates: true },
  { name: 'compression:stored-in-turn', hits: 1, compresses: 'turn' },
  { name: 'agent:compressed', hits: 1, compresses: 'turn' },
  { name: 'compression:rotated', hits: 1, compresses: 'conversation' },
  { name: 'drain:begun', hits: 1, drain: true },
  { name: 'recovery:begun', hits: 1, after: 'turn:claimed' },
  { name: 'outbox:recovering', hits: 1, after: 'outbox:claimed' },
  { name: 'recovery:done', hits: 1, after: 'agent:streaming' },
]

interface UserMessage {
  readonly chat: string
  readonly text: string
  /** A part of the final reply; '' for a message whose turn another one interrupts. */
  readonly reply: string
  /** The text before the tool call, which is a message of its own. */
  readonly interim?: string
  /** No one writes it: the agent sends `reply` to this chat. */
  readonly isSent?: true
}

/** The messages of one round. Every round has chats of its own, so that it can be checked alone. */
function conversationOf(round: number, point: KillPoint, isShort: boolean): readonly UserMessage[] {
  const { stranger, busy, sends, remembers, learns, rotates, delegates, compresses } = point
  const [ada, bob, cyd] = [`ada-${round}`, `bob-${round}`, `cyd-${round}`]
  const own = [
    ...(busy === undefined ? [] : busyConversations[busy].map((said) => ({ ...said, chat: `${busy}-${round}` }))),
    ...(stranger === true ? [{ chat: `stranger-${round}`, text: 'let me in', reply: 'your pairing code' }] : []),
    ...(sends === true ? sendMessages(round) : []),
    ...(remembers === true
      ? [{ chat: `eve-${round}`, text: `remember ${round}`, reply: `the answer to remember ${round}` }]
      : []),
    ...(learns === true
      ? [{ chat: `gus-${round}`, text: `learn ${round}`, reply: `the answer to learn ${round}` }]
      : []),
    ...(rotates === true
      ? [{ chat: `ivy-${round}`, text: `rotate ${round}`, reply: `the answer to rotate ${round}` }]
      : []),
    ...(delegates === true ? delegateMessages(round) : []),
    ...(compresses === undefined ? [] : longMessages(round, compresses)),
    { chat: ada, text: 'first', reply: 'the answer to first' },
  ]
  if (isShort && own.length > 1) return [...own, effectMessage(ada, `a${round}`)]
  const messages = [...own, effectMessage(bob, `b${round}`), effectMessage(ada, `a${round}`)]
  if (isShort && point.isSpecial !== true) return messages
  return [
    ...messages,
    { chat: bob, text: '/whoami', reply: 'Session key' },
    // The adapter adds a picture.
    { chat: ada, text: 'photo', reply: `.png (image/png, ${createPng().length} bytes)` },
    { chat: cyd, text: '/new Garden', reply: 'Go on?' },
    { chat: cyd, text: '/approve', reply: 'New conversation: Garden' },
  ]
}

/** The adapter accepts a message `then …` when the first turn of the chat has begun. */
const busyConversations: Readonly<Record<NonNullable<KillPoint['busy']>, readonly Omit<UserMessage, 'chat'>[]>> = {
  interrupt: [
    { text: 'hang', reply: '' },
    { text: 'then this', reply: 'the answer to then this' },
  ],
  collect: [
    { text: 'hold', reply: 'the answer to hold' },
    { text: 'then one', reply: 'the answer to then one' },
    { text: 'then two', reply: 'then two' },
  ],
  steer: [
    { text: 'hold a tool', reply: 'then blue' },
    { text: 'then blue', reply: 'then blue' },
  ],
}

function effectMessage(chat: string, effect: string): UserMessage {
  return { chat, text: `effect ${effect}`, reply: `the answer to effect ${effect}`, interim: interimText(effect) }
}

function sendMessages(round: number): readonly UserMessage[] {
  return [
    { chat: `dan-${round}`, text: `send ${round}`, reply: `the answer to send ${round}` },
    { chat: `ops-${round}`, text: '', reply: `the news of ${round}`, isSent: true },
  ]
}

/** The sub-agent causes an effect, and the agent repeats its answer. */
function delegateMessages(round: number): readonly UserMessage[] {
  const chat = `finn-${round}`
  return [
    { chat, text: `delegate ${round}`, reply: `the answer to delegate ${round}` },
    { chat, text: '', reply: `the answer to effect d${round}`, isSent: true },
  ]
}

const longText = 'x '.repeat(windowTokens)

function longMessages(round: number, compresses: NonNullable<KillPoint['compresses']>): readonly UserMessage[] {
  const chat = `hal-${round}`
  if (compresses === 'turn') return [{ chat, text: `ponder ${round}`, reply: `the answer to ponder ${round}` }]
  return [
    { chat, text: `tell ${round} ${longText}`, reply: `the answer to tell ${round}` },
    { chat, text: `go on ${round}`, reply: `the answer to go on ${round}` },
  ]
}

function interimText(effect: string): string {
  return `First I run the command of ${effect}.`
}

function factOf(round: number | string): string {
  return `The fact of ${round}.\nIt has two lines.`
}

function skillOf(round: number | string): string {
  return `---\nname: skill-${round}\ndescription: Do ${round}\n---\n\nThe last line of ${round}.\n`
}

/** Two long results fill the window. */
function longReply({ body, lastUserText: text }: RecordedRequest, effects: string): ModelReply | undefined {
  if (text.includes('Write the record now')) return { text: 'the record' }
  const told = /^tell \d+/.exec(text)?.[0]
  if (told !== undefined) return { text: `Here is the answer to ${told}.` }
  const pondered = /^ponder (\d+)$/.exec(text)?.[1]
  const messages = Array.isArray(body['messages']) ? body['messages'] : []
  const results = messages.filter(({ role }) => role === 'tool').length
  if (pondered === undefined || results >= 2) return undefined
  const command = `echo p${pondered}.${results} >> '${effects}'; head -c 40000 /dev/zero | tr '\\0' x`
  return { toolCalls: [{ name: 'terminal', arguments: { command } }] }
}

/** The key rests for a moment only, so that the next round can use it. */
function refusal({ lastUserText, headers }: RecordedRequest): ModelReply | undefined {
  const isRefused = lastUserText.startsWith('rotate') && headers.authorization === 'Bearer none'
  return isRefused ? { error: { status: 401, headers: { 'retry-after-ms': '1' } } } : undefined
}

/** Replies to a plain message directly, and to `effect …` after a text and a tool call that appends a line to a file. */
function modelReply(effects: string, chat: ChatServer): (request: RecordedRequest) => ModelReply {
  return ({ body, lastUserText }) => {
    const messages = Array.isArray(body['messages']) ? body['messages'] : []
    const toolDone = messages.at(-1)?.role === 'tool'
    if (lastUserText === 'hang') return { hang: 'headers' }
    const held = lastUserText.startsWith('hold') ? { gate: chat.untilAcknowledged } : {}
    if (lastUserText === 'hold a tool' && !toolDone)
      return { toolCalls: [{ name: 'terminal', arguments: { command: 'true' } }], ...held }
    const sends = /^send (\d+)$/.exec(lastUserText)?.[1]
    if (sends !== undefined && !toolDone) {
      const message = { target: `wire:ops-${sends}`, message: `Here is the news of ${sends}.` }
      return { toolCalls: [{ name: 'send_message', arguments: message }] }
    }
    const fact = /^remember (\d+)$/.exec(lastUserText)?.[1]
    if (fact !== undefined && !toolDone)
      return { toolCalls: [{ name: 'memory', arguments: { action: 'add', content: factOf(fact) } }] }
    const learned = /^learn (\d+)$/.exec(lastUserText)?.[1]
    if (learned !== undefined && !toolDone) {
      const change = { action: 'create', name: `skill-${learned}`, content: skillOf(learned) }
      return { toolCalls: [{ name: 'skill_manage', arguments: change }] }
    }
    const delegates = /^delegate (\d+)$/.exec(lastUserText)?.[1]
    if (delegates !== undefined && !toolDone) {
      const task = { goal: `effect d${delegates}`, background: true }
      return { toolCalls: [{ name: 'delegate_task', arguments: task }] }
    }
    const effect = /^effect (\w+)$/.exec(lastUserText.trim())?.[1]
    if (effect !== undefined && !toolDone) {
      const toolCalls = [{ name: 'terminal', arguments: { command: `echo ${effect} >> '${effects}'` } }]
      return { text: interimText(effect), toolCalls, delayMs: 1 }
    }
    return {
      text: `Here is, with a few more words than needed, the answer to ${lastUserText.trim()}.`,
      delayMs: 1,
      ...held,
    }
  }
}

export interface ScenarioOptions {
  /** Adds files to the home. */
  prepare?(home: string): Promise<void>
  /** Only messages that concern the kill point, and a few others. Default: false. */
  readonly isShort?: boolean
  /** Whether texts before tool calls are shown. Default: true. */
  readonly showsInterim?: boolean
}

/** One home whose gateway is killed again and again. */
export interface Scenario {
  readonly home: string
  /**
   * One round: users write, the gateway is killed at the failpoint and starts again, and every message is answered.
   * Rejects if a message was lost or duplicated. `seed` selects the hit of the failpoint that kills.
   */
  kill(point: KillPoint, seed: number): Promise<void>
  /** Stops the gateway cleanly and checks all rounds again. */
  finish(): Promise<void>
  /** Kills what still runs and removes the home. */
  dispose(): Promise<void>
}

export async function createScenario(options: ScenarioOptions = {}): Promise<Scenario> {
  const { prepare, showsInterim = true, isShort = false } = options
  const { home, chat, gateway, untilSent, dispose } = await createChatGateway({
    reply: (request, { home, chat }) =>
      refusal(request) ?? longReply(request, effectsFile(home)) ?? modelReply(effectsFile(home), chat)(request),
  })
  const effects = effectsFile(home)
  /** The conversations of the rounds that succeeded. */
  const rounds: (readonly UserMessage[])[] = []
  let started = 0
  /** The entries of the memory after the rounds that were played. */
  const remembered: string[] = []
  /** Whether the gateway runs that the last round restarted. */
  let isRunning = false

  async function checkRounds(conversations: readonly (readonly UserMessage[])[]): Promise<void> {
    const lines = (await readFile(effects, 'utf8').catch(() => '')).split('\n').filter(Boolean)
    for (const conversation of conversations) check(conversation, chat.messages, lines, showsInterim)
    for (const { chat: name } of conversations.flat().filter(({ chat }) => chat.startsWith('stranger')))
      await checkPairingCode(home, name, chat.messages)
  }

  /** Kills the running gateway, or a new one, at the failpoint. `write` is called when the failpoint is armed. */
  async function killOnce(killAt: string, killHit: number, drain: boolean, write: () => void): Promise<void> {
    if (isRunning) await gateway.arm(killAt, killHit)
    else gateway.start(killAt, killHit)
    isRunning = false
    const before = chat.messages.length
    write()
    if (drain) {
      await untilSent('a message before the stop', (messages) => messages.length > before)
      gateway.terminate()
    }
    await gateway.killed()
  }

  async function playRound(point: KillPoint, seed: number, conversation: readonly UserMessage[]): Promise<void> {
    if (point.rotates === true) await addKey(home)
    const write = () => {
      for (const { chat: name, text, isSent } of conversation) if (isSent !== true) chat.say(name, text)
    }
    const hit = 1 + (seed % point.hits)
    if (point.after === undefined) await killOnce(point.name, hit, point.drain === true, write)
    else {
      await killOnce(point.after, 1, false, write)
      await killOnce(point.name, hit, false, () => undefined)
    }
    await gateway.restart()
    isRunning = true
    await untilSent('an answer', (messages) => conversation.every((message) => isAnswered(message, messages)))
    await checkRounds([...rounds, conversation])
    // A call that was started is not repeated.
    if (point.name === 'memory:written') remembered.push(factOf(started))
    if (point.rotates === true) await checkKeys(home)
    if (point.remembers === true) assert.deepEqual(await entriesOf(home), remembered)
    if (point.learns === true) {
      const skill = await readFile(join(home, 'skills', `skill-${started}`, 'SKILL.md'), 'utf8').catch(() => '')
      assert.equal(skill, point.name === 'skill:written' ? skillOf(started) : '', 'a skill was written in part')
    }
  }

  await prepare?.(home)

  return {
    home,
    async kill(point, seed) {
      started += 1
      const conversation = conversationOf(started, point, isShort)
      try {
        await playRound(point, seed, conversation)
        rounds.push(conversation)
      } catch (error) {
        // The next round starts with a new process.
        await gateway.dispose()
        isRunning = false
        throw error
      }
    },
    async finish() {
      if (isRunning) {
        // A turn ends some time after its answer is shown. On a busy machine that may be later than a stop waits.
        await gateway.untilTrue('the end of each turn', () => isIdle(home))
        await gateway.stop()
      }
      isRunning = false
      await checkRounds(rounds)
      await checkEndings(home)
    },
    dispose,
  }
}

/** Each line is an effect that a tool caused. */
function effectsFile(home: string): string {
  return join(home, 'effects.log')
}

const spareKey = {
  id: 'spare',
  label: 'spare',
  source: 'manual',
  access_token: 'spare-key',
  note: 'of another program',
}

/** The provider has a second key, which it accepts. */
async function addKey(home: string): Promise<void> {
  const file = { version: 1, credential_pool: { openai: [spareKey] } }
  await writeFile(join(home, 'auth.json'), JSON.stringify(file), { mode: 0o600, flag: 'wx' }).catch(() => undefined)
}

/** The file is whole, each key is in it once, and the configured one only by its name. */
async function checkKeys(home: string): Promise<void> {
  const text = await readFile(join(home, 'auth.json'), 'utf8')
  const { credential_pool: pool }: { credential_pool: Record<string, { source: string; note?: string }[]> } =
    JSON.parse(text)
  assert.deepEqual(
    pool['openai']?.map(({ source, note }) => [source, note]),
    [
      ['manual', spareKey.note],
      ['config:api_key', undefined],
    ],
  )
  assert.ok(!text.includes('"none"'), 'the configured key was stored')
}

async function entriesOf(home: string): Promise<string[]> {
  const text = await readFile(join(home, 'memories', 'MEMORY.md'), 'utf8').catch(() => '')
  return text === '' ? [] : text.split('\n§\n')
}

/** Runs one round in a home of its own. */
export async function runScenario(point: KillPoint, seed: number, options?: ScenarioOptions): Promise<void> {
  const scenario = await createScenario(options)
  try {
    await scenario.kill(point, seed)
    await scenario.finish()
  } finally {
    await scenario.dispose()
  }
}

function isAnswered({ chat, reply }: UserMessage, messages: readonly SentMessage[]): boolean {
  if (reply === '') return true
  return finals(messages).some((message) => message.chat === chat && message.text.includes(reply))
}

function finals(messages: readonly SentMessage[]): SentMessage[] {
  return messages.filter(({ draft }) => !draft)
}

/** The text before a tool call is shown once, or again with a label, and above the answer. */
function checkInterim({ chat, reply }: UserMessage, interim: string, messages: readonly SentMessage[]): void {
  const texts = messages.filter((message) => message.chat === chat).map(({ text }) => text)
  const shown = texts.filter((text) => text.includes(interim))
  assert.ok(shown.length >= 1, `"${interim}" was lost: ${JSON.stringify(texts)}`)
  const unlabelled = shown.filter((text) => !text.includes('May be a duplicate'))
  assert.ok(unlabelled.length <= 1, `"${interim}" was shown twice without a label: ${JSON.stringify(texts)}`)
  const [first, answer] = [interim, reply].map((part) => texts.findIndex((text) => text.includes(part)))
  assert.ok(Number(first) < Number(answer), `"${interim}" was shown below its answer: ${JSON.stringify(texts)}`)
}

/** The code that a stranger has received is the one whose hash is stored. */
async function checkPairingCode(home: string, stranger: string, messages: readonly SentMessage[]): Promise<void> {
  const text = messages.findLast(({ chat }) => chat === stranger)?.text ?? ''
  const code = /`(?<code>[A-Z2-9]{8})`/.exec(text)?.groups?.['code']
  assert.ok(code, text)
  const file = join(home, 'platforms', 'pairing', 'wire-pending.json')
  const pending: Record<string, { user_id: string; salt: string; hash: string }> = JSON.parse(
    await readFile(file, 'utf8'),
  )
  const own = Object.values(pending).filter((request) => request.user_id === stranger)
  const hashes = own.map(({ salt }) => createHash('sha256').update(Buffer.from(salt, 'hex')).update(code).digest('hex'))
  assert.deepEqual(
    own.map(({ hash }) => hash),
    hashes,
  )
  assert.equal(own.length, 1)
}

/** Whether no accepted message waits and no turn is in progress. */
function isIdle(home: string): boolean {
  const database = new DatabaseSync(join(home, 'state.db'), { readOnly: true })
  try {
    return database.prepare("select 1 from inbox where state in ('queued', 'claimed') limit 1").get() === undefined
  } finally {
    database.close()
  }
}

/** Every accepted message has ended in one of the ways that the gateway promises. */
async function checkEndings(home: string): Promise<void> {
  const store = createSqliteStore({ path: join(home, 'state.db') })
  try {
    const audit = await store.run(() => auditInbox(0, 100_000))
    assert.deepEqual(
      audit.filter(({ finally: ending }) => ending === 'open' || ending === 'unaccounted'),
      [],
    )
  } finally {
    await store.close()
  }
}

/** Every message has a reply, without unlabelled duplicates and in order, and no effect happened twice. */
function check(
  conversation: readonly UserMessage[],
  messages: readonly SentMessage[],
  effects: readonly string[],
  showsInterim: boolean,
): void {
  for (const said of conversation) {
    if (said.reply === '') continue
    if (said.interim !== undefined && showsInterim) checkInterim(said, said.interim, finals(messages))
    const replies = finals(messages).filter(({ chat, text }) => chat === said.chat && text.includes(said.reply))
    const unlabelled = replies.filter(({ text }) => !text.includes('May be a duplicate'))
    assert.ok(replies.length >= 1, `"${said.text}" was not answered`)
    assert.ok(
      unlabelled.length <= 1,
      `"${said.text}" was answered ${unlabelled.length} times without a label: ${JSON.stringify(messages)}`,
    )
  }
  assert.equal(new Set(effects).size, effects.length, `an effect happened twice: ${effects}`)
  for (const chat of new Set(conversation.map((said) => said.chat))) {
    // Commands run at once, so only replies of the agent have an order.
    const expected = conversation
      .filter((said) => said.chat === chat && !said.text.startsWith('/') && said.reply !== '')
      .map(({ reply }) => reply)
    const order = finals(messages).flatMap((message) =>
      message.chat === chat ? expected.findIndex((reply) => message.text.includes(reply)) : [],
    )
    const known = order.filter((index) => index !== -1)
    assert.deepEqual(known, [...known].sort(), `the order of ${chat} was not kept: ${JSON.stringify(messages)}`)
  }
}
