/**
 * Restarts a gateway many times while messages are in progress. Innocent messages must be answered, however the process
 * ended and however often; a message that ends the gateway must become a dead letter, alone.
 */
import { existsSync } from 'node:fs'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { type ChatGateway, createChatGateway } from '../crash/chat-gateway.ts'
import type { ChatServer } from '../crash/chat-server.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { createRandom, type Random } from './random.ts'

export const restartKinds = [
  // SIGTERM while 24 turns wait for the model.
  'stop',
  // SIGKILL while 24 turns wait for the model.
  'kill',
  // SIGKILL at any moment of the start.
  'kill-starting',
  // SIGKILL while a turn waits for a person.
  'kill-waiting',
  // One of 24 messages ends the process whenever the model answers it.
  'culprit',
] as const
export type RestartKind = (typeof restartKinds)[number]

export interface RestartsResult {
  readonly kind: RestartKind
  readonly restarts: number
  readonly innocent: number
  readonly answered: number
  /** Texts of messages that became dead letters. */
  readonly deadLetters: readonly string[]
  readonly seconds: number
}

export function keepsInnocents({ kind, innocent, answered, deadLetters }: RestartsResult): boolean {
  const expected = kind === 'culprit' ? ['poison'] : []
  return answered === innocent && JSON.stringify(deadLetters) === JSON.stringify(expected)
}

export interface RestartsOptions {
  readonly kind: RestartKind
  /** The culprit ends the process as often as it takes to become a dead letter, and not more often than this. */
  readonly count: number
  readonly messages: number
  readonly seed: number
}

const limitMs = 60_000

/** Rejects when the gateway does not start, or when messages are not answered in time. */
export async function runRestarts({ kind, count, messages, seed }: RestartsOptions): Promise<RestartsResult> {
  const startedAt = performance.now()
  const released = Promise.withResolvers<void>()
  const test = await createChatGateway({ reply: replyFor(kind, released.promise) })
  const { home, chat, gateway } = test
  try {
    await prepareRestartHome(home, kind)
    const texts = textsFor(kind, messages)
    for (const text of texts) chat.say(`chat of ${text}`, text)
    const context = { ...test, random: createRandom(seed) }
    const restarts = kind === 'culprit' ? await restartUntilDead(context, count) : await restart(context, kind, count)
    released.resolve()
    // The first start attributes the last crash, and may postpone a turn.
    await gateway.restart()
    await gateway.stop()
    endPauses(home)
    await gateway.restart()
    if (kind === 'kill-waiting') for (const text of texts) chat.say(`chat of ${text}`, '/approve')
    const innocent = texts.filter((text) => text !== 'poison')
    const answeredNow = () => innocent.filter((text) => isAnswered(chat, text)).length
    await chat.until(() => answeredNow() === innocent.length, limitMs).catch(() => undefined)
    await gateway.stop()
    return {
      kind,
      restarts,
      innocent: innocent.length,
      answered: answeredNow(),
      deadLetters: deadLettersIn(home),
      seconds: (performance.now() - startedAt) / 1_000,
    }
  } finally {
    released.resolve()
    await test.dispose()
  }
}

interface RestartContext extends Omit<ChatGateway, 'dispose'> {
  readonly random: Random
}

async function restart(context: RestartContext, kind: RestartKind, count: number): Promise<number> {
  const { gateway, random, untilSent } = context
  for (let index = 0; index < count; index++) {
    gateway.start()
    if (kind === 'kill-starting') {
      await delay(random.between(20, 500))
      await gateway.kill()
      continue
    }
    await gateway.ready()
    if (kind === 'kill-waiting' && index === 0)
      await untilSent('the question', (sent) => sent.some(({ text }) => text.includes('May I run')))
    await delay(random.between(0, 400))
    await (kind === 'stop' ? gateway.stop() : gateway.kill())
  }
  return count
}

/** A supervisor restarts the gateway until it no longer ends by itself. */
async function restartUntilDead(context: RestartContext, limit: number): Promise<number> {
  const { home, chat, gateway } = context
  for (let restarts = 0; restarts < limit; restarts++) {
    gateway.start()
    const ended = gateway.ended().then(() => 'ended' as const)
    // The gateway may still run when the message is dead.
    ended.catch(() => undefined)
    const settled = chat.until(() => deadLettersIn(home).length > 0).then(() => 'dead' as const)
    const paused = waitForPause(context).then(() => 'paused' as const)
    const outcome = await Promise.race([ended, settled, paused])
    if (outcome !== 'ended') {
      gateway.terminate()
      await ended
    }
    if (outcome === 'dead') return restarts
    if (outcome === 'paused') endPauses(home)
  }
  throw new Error(`the message did not become a dead letter within ${limit} restarts`)
}

/** Resolves when the sender of the poison is told that the third attempt comes later. */
async function waitForPause({ chat }: Pick<RestartContext, 'chat'>): Promise<void> {
  const notices = () =>
    chat.messages.filter((sent) => sent.chat === 'chat of poison' && sent.text.includes('/stop')).length
  const before = notices()
  if (before > 0) return await new Promise(() => undefined)
  await chat.until(() => notices() > before)
}

/** Lets the time of all pauses pass. */
function endPauses(home: string): void {
  if (!existsSync(join(home, 'state.db'))) return
  const db = new DatabaseSync(join(home, 'state.db'), { timeout: 10_000 })
  db.exec('update inbox set available_at = 0')
  db.close()
}

function deadLettersIn(home: string): string[] {
  if (!existsSync(join(home, 'state.db'))) return []
  const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true, timeout: 10_000 })
  try {
    const rows = db.prepare("select json_extract(payload, '$.text') as text from inbox where state = 'dead'").all()
    return rows.map(({ text }) => String(text))
  } finally {
    db.close()
  }
}

function textsFor(kind: RestartKind, messages: number): string[] {
  const texts = Array.from({ length: kind === 'kill-waiting' ? 1 : messages }, (_, index) => `question ${index + 1}`)
  return kind === 'culprit' ? [...texts.slice(1), 'poison'] : texts
}

function isAnswered(chat: ChatServer, text: string): boolean {
  return chat.messages.some((sent) => sent.chat === `chat of ${text}` && sent.text.includes(`the answer to ${text}`))
}

/** The model answers after its release; at once for the culprit, whose answers end the process. */
function replyFor(kind: RestartKind, released: Promise<void>) {
  return ({ body, lastUserText }: RecordedRequest): ModelReply => {
    const messages = Array.isArray(body['messages']) ? body['messages'] : []
    if (kind === 'kill-waiting' && messages.at(-1)?.role !== 'tool')
      return { toolCalls: [{ name: 'terminal', arguments: { command: 'true' } }] }
    const question = kind === 'kill-waiting' ? 'question 1' : lastUserText.trim()
    // The others take longer, so that they are in progress when the culprit ends the process.
    const slow = kind === 'culprit' && question !== 'poison' ? { gate: () => delay(150) } : {}
    const waits = kind === 'stop' || kind.startsWith('kill') ? { gate: () => released } : {}
    return { text: `This is the answer to ${question}.`, ...slow, ...(kind === 'kill-waiting' ? {} : waits) }
  }
}

async function prepareRestartHome(home: string, kind: RestartKind): Promise<void> {
  const file = join(home, 'config.yaml')
  const config = await readFile(file, 'utf8')
  await writeFile(file, config.replace('drain_timeout: 5', 'drain_timeout: 0.2'), { mode: 0o600 })
  if (kind === 'culprit') await installPlugin(home, poisonCode)
  if (kind === 'kill-waiting')
    await installPlugin(home, `ctx.registerHook('pre_tool_call', () => ({ action: 'approve' }))`)
}

/** Ends the process when the model has answered the poison. */
const poisonCode = `ctx.registerHook('post_api_request', ({ response }) => {
    if (JSON.stringify(response ?? '').includes('poison')) process.kill(process.pid, 'SIGKILL')
  })`

async function installPlugin(home: string, registration: string): Promise<void> {
  const folder = join(home, 'plugins', 'proof')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'plugin.yaml'), 'name: proof\n')
  await writeFile(join(folder, 'index.js'), `export function register(ctx) {\n  ${registration}\n}\n`)
  await appendFile(join(home, 'config.yaml'), 'plugins: { enabled: [proof] }\n')
}
