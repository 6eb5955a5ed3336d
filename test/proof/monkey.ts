/**
 * Users write in several chats while the gateway is killed at random moments, also during recovery, and restarted.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { type ChatServer, startChatServer } from '../crash/chat-server.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startDelayProxy } from './delay-proxy.ts'
import {
  answeredToken,
  countDeliveries,
  type DeliveryCounts,
  deadLetterNumber,
  isCommandAnswer,
  textOf,
  type UserMessage,
} from './delivery-counts.ts'
import { createGatewayHome, type GatewayProcess, startGatewayProcess } from './gateway-process.ts'
import { createRandom, type Random } from './random.ts'

export interface MonkeyOptions {
  readonly seed: number
  readonly messages: number
  readonly chats: number
  progress(line: string): void
}

export interface MonkeyResult extends DeliveryCounts {
  readonly kills: number
  /** Kills that came before the gateway had run long enough to recover. */
  readonly killsWhileStarting: number
  readonly seconds: number
}

/** After this time without a new answer from a running gateway, the missing answers count as lost. */
const silenceMs = 30_000
/** Limits the delay of a request or a response between the gateway and the chat server. */
const maxDelayMs = 40
/** Pending messages of one chat. */
const maxPendingPerChat = 3

/** Rejects when a gateway cannot be started. All other failures are in the result. */
export async function runMonkey(options: MonkeyOptions): Promise<MonkeyResult> {
  const startedAt = performance.now()
  const random = createRandom(options.seed)
  const home = await mkdtemp(join(tmpdir(), 'hermes-proof-'))
  const effects = join(home, 'effects.log')
  const chat = await startChatServer()
  const proxy = await startDelayProxy(chat.url, createRandom(options.seed + 1), maxDelayMs)
  const model = await startOpenAiServer({ defaultReply: modelReply(effects), record: false })
  try {
    await createGatewayHome(home, { chatUrl: proxy.url, modelUrl: model.baseUrl })
    const users = startUsers(chat, options, random)
    const kills = await killUntilSettled(home, users, random, options)
    const written = (await readFile(effects, 'utf8').catch(() => '')).split('\n').filter(Boolean)
    const counts = countDeliveries(users.messages, chat.messages, deadLetterTexts(home), written)
    return { ...counts, ...kills, seconds: (performance.now() - startedAt) / 1_000 }
  } finally {
    await proxy.close()
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Answers a plain message directly, and an `effect` message after a tool call that appends its token to a file. */
function modelReply(effects: string): (request: RecordedRequest) => ModelReply {
  return ({ body, lastUserText }) => {
    const messages = Array.isArray(body['messages']) ? body['messages'] : []
    const question = lastUserText.trim()
    const effect = /^effect (\w+)$/.exec(question)?.[1]
    if (effect !== undefined && messages.at(-1)?.role !== 'tool') {
      return { toolCalls: [{ name: 'terminal', arguments: { command: `echo ${effect} >> '${effects}'` } }], delayMs: 1 }
    }
    return { text: `Here is, with a few more words than needed, the answer to ${question}.`, delayMs: 2 }
  }
}

interface Users {
  readonly messages: readonly UserMessage[]
  /** Messages that have an answer, or a notice that there will be none. */
  settled(): number
  /** Resolves when all messages have been written and settled, or after `stop`. */
  readonly done: Promise<void>
  stop(): void
}

/** Each user writes at a random rate and rarely waits for the answer. */
function startUsers(chat: ChatServer, { messages: total, chats }: MonkeyOptions, random: Random): Users {
  const messages: UserMessage[] = []
  const readers = Array.from({ length: chats }, (_, index) => createReader(chat, `c${index + 1}`))
  const settled = () => readers.reduce((sum, reader) => sum + reader.settled(), 0)
  let home = false

  async function runUser(reader: Reader, share: number): Promise<void> {
    const chatName = reader.name
    for (let number = 1; number <= share && !home; ) {
      await pause(random.between(100, 900))
      if (number - 1 - reader.settled() >= maxPendingPerChat) continue
      const choice = random.next()
      const one: UserMessage = {
        chat: chatName,
        number,
        kind: choice < 0.55 ? 'plain' : choice < 0.9 ? 'effect' : 'command',
      }
      messages.push(one)
      reader.expect(one)
      chat.say(chatName, textOf(one))
      number += 1
    }
  }
  async function all(): Promise<void> {
    const share = Math.ceil(total / chats)
    await Promise.all(readers.map((reader) => runUser(reader, share)))
    while (settled() < messages.length && !home) await pause(20)
  }
  return {
    messages,
    settled,
    done: all(),
    stop() {
      home = true
    },
  }
}

interface Reader {
  readonly name: string
  expect(messages: UserMessage): void
  /** The number of messages of this chat that have an answer or a notice. */
  settled(): number
}

/** Reads one chat while it grows. It only counts settled messages; duplicates are counted at the end. */
function createReader(chat: ChatServer, name: string): Reader {
  const final = new Set<string>()
  const settled = new Set<string>()
  let commands = 0
  let commandAnswers = 0
  let next = 0

  function read(): void {
    for (const message of chat.messages.slice(next)) {
      if (message.chat !== name || message.draft || final.has(message.id)) continue
      final.add(message.id)
      if (isCommandAnswer(message.text)) commandAnswers += 1
      const about = answeredToken(message.text) ?? deadLetterNumber(message.text)
      if (about !== undefined) settled.add(about)
    }
    // A draft is finalised in place, so the newest messages are read again.
    next = Math.max(0, chat.messages.length - 500)
  }
  return {
    name,
    expect({ kind }) {
      if (kind === 'command') commands += 1
    },
    settled() {
      read()
      return settled.size + Math.min(commands, commandAnswers)
    },
  }
}

/** Kills the gateway until everything is written, then lets it run until everything is answered. */
async function killUntilSettled(home: string, users: Users, random: Random, options: MonkeyOptions) {
  try {
    const kills = await killUntilWritten(home, users, random, options)
    await runUntilSettled(home, users)
    return kills
  } finally {
    users.stop()
  }
}

/** The time until each kill is a multiple of the time that a start takes, so that also a busy machine makes progress. */
async function killUntilWritten(
  home: string,
  users: Users,
  random: Random,
  { messages, progress }: MonkeyOptions,
): Promise<{ kills: number; killsWhileStarting: number }> {
  let startMs = await measureStart(home)
  let kills = 1
  let killsWhileStarting = 0
  let done = false
  users.done.then(() => {
    done = true
  })
  let shownAt = performance.now()
  while (!done) {
    const early = random.next() < 0.25
    const percent = early ? random.between(20, 60) : random.between(90, 400)
    endPostponement(home)
    const startedAt = performance.now()
    const gateway = startGatewayProcess(home)
    let readyMs: number | undefined
    gateway.ready.then(() => {
      readyMs ??= performance.now() - startedAt
    })
    await Promise.race([pause((startMs * percent) / 100), users.done])
    if (done) return stopGateway(gateway, { kills, killsWhileStarting })
    if (readyMs !== undefined) startMs = (startMs + readyMs) / 2
    else if (!early) startMs *= slowerStart
    await kill(gateway)
    kills += 1
    if (early) killsWhileStarting += 1
    if (performance.now() - shownAt > 5_000) {
      shownAt = performance.now()
      progress(`${users.settled()} of ${messages} settled, ${kills} kills`)
    }
    // Everything is written. The remaining messages must be answered without further kills.
    if (users.messages.length >= messages) break
  }
  return { kills, killsWhileStarting }
}

/** Factor for the time of a start after one that was slower than expected, because the load of the machine has grown. */
const slowerStart = 1.2

/** How long a gateway takes to become ready, ms. It is killed then. */
async function measureStart(home: string): Promise<number> {
  const startedAt = performance.now()
  const gateway = startGatewayProcess(home)
  await gateway.ready
  const startMs = performance.now() - startedAt
  await kill(gateway)
  return startMs
}

async function kill(gateway: GatewayProcess): Promise<void> {
  gateway.signal('SIGKILL')
  const exit = await gateway.ended
  if (exit !== 'SIGKILL') throw new Error(`the gateway ended by itself (${exit}): ${gateway.log()}`)
}

async function stopGateway<T>(gateway: GatewayProcess, counts: T): Promise<T> {
  await gateway.ready
  gateway.signal('SIGTERM')
  await gateway.ended
  return counts
}

/** Lets the gateway run until everything is answered, or until nothing has changed for too long. */
async function runUntilSettled(home: string, users: Users): Promise<void> {
  endPostponement(home)
  const gateway = startGatewayProcess(home)
  let before = users.settled()
  let progressAt = performance.now()
  let done = false
  users.done.then(() => {
    done = true
  })
  while (!done && performance.now() - progressAt < silenceMs) {
    await Promise.race([pause(200), users.done])
    const now = users.settled()
    if (now !== before) progressAt = performance.now()
    before = now
  }
  // Replies that a start repeats by mistake have arrived by now.
  await gateway.ready
  await pause(500)
  gateway.signal('SIGTERM')
  const exit = await gateway.ended
  if (exit !== 0) throw new Error(`the last gateway did not stop cleanly (${exit}): ${gateway.log()}`)
}

/** A message that kills have interrupted several times waits for minutes. Here that time has passed at once. */
function endPostponement(home: string): void {
  const db = new DatabaseSync(join(home, 'state.db'))
  try {
    db.prepare("update inbox set available_at = :now where available_at > :now and state in ('queued', 'claimed')").run(
      {
        now: Date.now(),
      },
    )
  } finally {
    db.close()
  }
}

/** The texts of the dead letters of the inbox. */
function deadLetterTexts(home: string): string[] {
  const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true })
  try {
    const rows = db.prepare("select json_extract(payload, '$.text') as text from inbox where state = 'dead'").all()
    return rows.map(({ text }) => String(text))
  } finally {
    db.close()
  }
}
