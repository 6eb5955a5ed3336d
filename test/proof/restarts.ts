/**
 * Restarts a gateway many times while messages are in progress. Innocent messages must be answered, however the process
 * ended and however often; a message that ends the gateway must become a dead letter, alone.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { type ChatServer, startChatServer } from '../crash/chat-server.ts'
import { prepareHome, start, stop, waitForReady } from '../crash/scenario.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
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
  const children = new Set<ChildProcess>()
  const home = await mkdtemp(join(tmpdir(), 'hermes-restarts-'))
  const released = Promise.withResolvers<void>()
  const chat = await startChatServer()
  const model = await startOpenAiServer({ defaultReply: replyFor(kind, released.promise), record: false })
  try {
    await prepareRestartHome(home, chat.url, model.baseUrl, kind)
    const texts = textsFor(kind, messages)
    for (const text of texts) chat.say(`chat of ${text}`, text)
    const context = { home, chat, children, random: createRandom(seed) }
    const restarts = kind === 'culprit' ? await restartUntilDead(context, count) : await restart(context, kind, count)
    released.resolve()
    // The first start attributes the last crash, and may postpone a turn.
    const assessing = start(home, {}, children)
    await waitForReady(assessing)
    await stop(assessing)
    endPauses(home)
    const last = start(home, {}, children)
    await waitForReady(last)
    if (kind === 'kill-waiting') for (const text of texts) chat.say(`chat of ${text}`, '/approve')
    const innocent = texts.filter((text) => text !== 'poison')
    const answeredNow = () => innocent.filter((text) => isAnswered(chat, text)).length
    await chat.until(() => answeredNow() === innocent.length, limitMs).catch(() => undefined)
    await stop(last)
    return {
      kind,
      restarts,
      innocent: innocent.length,
      answered: answeredNow(),
      deadLetters: deadLettersIn(home),
      seconds: (performance.now() - startedAt) / 1_000,
    }
  } finally {
    for (const child of children) child.kill('SIGKILL')
    released.resolve()
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

interface RestartContext {
  readonly home: string
  readonly chat: ChatServer
  readonly children: Set<ChildProcess>
  readonly random: Random
}

async function restart(context: RestartContext, kind: RestartKind, count: number): Promise<number> {
  for (let index = 0; index < count; index++) {
    const child = start(context.home, {}, context.children)
    if (kind === 'kill-starting') {
      await delay(context.random.between(20, 500))
      await end(child, 'SIGKILL')
      continue
    }
    await waitForReady(child)
    if (kind === 'kill-waiting' && index === 0)
      await context.chat.until((sent) => sent.some(({ text }) => text.includes('May I run')), limitMs)
    await delay(context.random.between(0, 400))
    await end(child, kind === 'stop' ? 'SIGTERM' : 'SIGKILL')
  }
  return count
}

/** A supervisor restarts the gateway until it no longer ends by itself. */
async function restartUntilDead(context: RestartContext, limit: number): Promise<number> {
  for (let restarts = 0; restarts < limit; restarts++) {
    const child = start(context.home, {}, context.children)
    const ended = exitOf(child).then(() => 'ended' as const)
    const settled = context.chat
      .until(() => deadLettersIn(context.home).length > 0, limitMs)
      .then(() => 'dead' as const)
    settled.catch(() => undefined)
    const paused = waitForPause(context).then(() => 'paused' as const)
    const outcome = await Promise.race([ended, settled, paused])
    if (outcome !== 'ended') await end(child, 'SIGTERM')
    if (outcome === 'dead') return restarts
    if (outcome === 'paused') endPauses(context.home)
  }
  throw new Error(`the message did not become a dead letter within ${limit} restarts`)
}

/** Resolves when the sender of the poison is told that the third attempt comes later. */
async function waitForPause({ chat }: RestartContext): Promise<void> {
  const notices = () =>
    chat.messages.filter((sent) => sent.chat === 'chat of poison' && sent.text.includes('/stop')).length
  const before = notices()
  if (before > 0) return await new Promise(() => undefined)
  await chat.until(() => notices() > before, limitMs).catch(() => new Promise(() => undefined))
}

/** Lets the time of all pauses pass. */
function endPauses(home: string): void {
  if (!existsSync(join(home, 'state.db'))) return
  const db = new DatabaseSync(join(home, 'state.db'))
  db.exec('update inbox set available_at = 0')
  db.close()
}

function deadLettersIn(home: string): string[] {
  if (!existsSync(join(home, 'state.db'))) return []
  const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true })
  try {
    const rows = db.prepare("select json_extract(payload, '$.text') as text from inbox where state = 'dead'").all()
    return rows.map(({ text }) => String(text))
  } finally {
    db.close()
  }
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const exited = exitOf(child)
  child.kill(signal)
  await exited
}

function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => child.once('exit', () => resolve()))
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

async function prepareRestartHome(home: string, chatUrl: string, modelUrl: string, kind: RestartKind): Promise<void> {
  await prepareHome(home, chatUrl, modelUrl)
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
