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
import { type GatewayProcess, layOutHome, startGatewayProcess } from './gateway-process.ts'
import { createRandom, type Random } from './random.ts'
import { openSlowDoor } from './slow-door.ts'
import { answeredToken, givenUpNumber, isCommandAnswer, type Said, type Tally, tallyOf, textOf } from './tally.ts'

export interface MonkeyOptions {
  readonly seed: number
  readonly messages: number
  readonly chats: number
  progress(line: string): void
}

export interface MonkeyResult extends Tally {
  readonly kills: number
  /** Kills that came before the gateway had run long enough to recover. */
  readonly killsWhileStarting: number
  readonly seconds: number
}

/** After this time without a new answer from a running gateway, the missing answers count as lost. */
const silenceMs = 30_000
/** Of a request or a response between the gateway and the chat server. */
const longestDelayMs = 40
/** Pending messages of one chat. */
const waitingPerChat = 3

/** Rejects when a gateway cannot be started. All other failures are in the result. */
export async function runMonkey(options: MonkeyOptions): Promise<MonkeyResult> {
  const begun = performance.now()
  const random = createRandom(options.seed)
  const home = await mkdtemp(join(tmpdir(), 'hermes-proof-'))
  const effects = join(home, 'effects.log')
  const chat = await startChatServer()
  const door = await openSlowDoor(chat.url, createRandom(options.seed + 1), longestDelayMs)
  const model = await startOpenAiServer({ defaultReply: modelReply(effects), record: false })
  try {
    await layOutHome(home, { chatUrl: door.url, modelUrl: model.baseUrl })
    const people = startPeople(chat, options, random)
    const kills = await killUntilLeftAlone(home, people, random, options)
    const written = (await readFile(effects, 'utf8').catch(() => '')).split('\n').filter(Boolean)
    const tally = tallyOf(people.said, chat.messages, givenUpTexts(home), written)
    return { ...tally, ...kills, seconds: (performance.now() - begun) / 1_000 }
  } finally {
    await door.close()
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Answers a plain message directly, and an `effect` message after a tool call that appends its token to a file. */
function modelReply(effects: string): (request: RecordedRequest) => ModelReply {
  return ({ body, lastUserText }) => {
    const messages = Array.isArray(body['messages']) ? body['messages'] : []
    const asked = lastUserText.trim()
    const effect = /^effect (\w+)$/.exec(asked)?.[1]
    if (effect !== undefined && messages.at(-1)?.role !== 'tool') {
      return { toolCalls: [{ name: 'terminal', arguments: { command: `echo ${effect} >> ${effects}` } }], delayMs: 1 }
    }
    return { text: `Here is, with a few more words than needed, the answer to ${asked}.`, delayMs: 2 }
  }
}

interface People {
  readonly said: readonly Said[]
  /** Messages that have an answer, or a notice that there will be none. */
  settled(): number
  /** Resolves when all messages have been written and settled, or after `stop`. */
  readonly done: Promise<void>
  sendHome(): void
}

/** Each user writes at a random rate and rarely waits for the answer. */
function startPeople(chat: ChatServer, { messages, chats }: MonkeyOptions, random: Random): People {
  const said: Said[] = []
  const readers = Array.from({ length: chats }, (_, index) => createReader(chat, `c${index + 1}`))
  const settled = () => readers.reduce((sum, reader) => sum + reader.settled(), 0)
  let home = false

  async function person(reader: Reader, share: number): Promise<void> {
    const chatName = reader.name
    for (let number = 1; number <= share && !home; ) {
      await pause(random.between(100, 900))
      if (number - 1 - reader.settled() >= waitingPerChat) continue
      const dice = random.next()
      const one: Said = { chat: chatName, number, kind: dice < 0.55 ? 'plain' : dice < 0.9 ? 'effect' : 'command' }
      said.push(one)
      reader.expect(one)
      chat.say(chatName, textOf(one))
      number += 1
    }
  }
  async function all(): Promise<void> {
    const share = Math.ceil(messages / chats)
    await Promise.all(readers.map((reader) => person(reader, share)))
    while (settled() < said.length && !home) await pause(20)
  }
  return {
    said,
    settled,
    done: all(),
    sendHome() {
      home = true
    },
  }
}

interface Reader {
  readonly name: string
  expect(said: Said): void
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
      const about = answeredToken(message.text) ?? givenUpNumber(message.text)
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
async function killUntilLeftAlone(home: string, people: People, random: Random, options: MonkeyOptions) {
  try {
    const kills = await killUntilSaid(home, people, random, options)
    await lastLife(home, people)
    return kills
  } finally {
    people.sendHome()
  }
}

async function killUntilSaid(
  home: string,
  people: People,
  random: Random,
  { messages, progress }: MonkeyOptions,
): Promise<{ kills: number; killsWhileStarting: number }> {
  let kills = 0
  let killsWhileStarting = 0
  let over = false
  people.done.then(() => {
    over = true
  })
  let shownAt = performance.now()
  while (!over) {
    const early = random.next() < 0.25
    const lifeMs = early ? random.between(100, 500) : random.between(500, 2_000)
    const gateway = startGatewayProcess(home)
    await Promise.race([pause(lifeMs), people.done])
    if (over) return finished(gateway, { kills, killsWhileStarting })
    gateway.signal('SIGKILL')
    const how = await gateway.ended
    if (how !== 'SIGKILL') throw new Error(`the gateway ended by itself (${how}): ${gateway.log()}`)
    kills += 1
    if (early) killsWhileStarting += 1
    if (performance.now() - shownAt > 5_000) {
      shownAt = performance.now()
      progress(`${people.settled()} of ${messages} settled, ${kills} kills`)
    }
    // Everything is written. The remaining messages must be answered without further kills.
    if (people.said.length >= messages) break
  }
  return { kills, killsWhileStarting }
}

async function finished<T>(gateway: GatewayProcess, counts: T): Promise<T> {
  await gateway.ready
  gateway.signal('SIGTERM')
  await gateway.ended
  return counts
}

/** Lets the gateway run until everything is answered, or until nothing has changed for too long. */
async function lastLife(home: string, people: People): Promise<void> {
  const gateway = startGatewayProcess(home)
  let before = people.settled()
  let movedAt = performance.now()
  let over = false
  people.done.then(() => {
    over = true
  })
  while (!over && performance.now() - movedAt < silenceMs) {
    await Promise.race([pause(200), people.done])
    const now = people.settled()
    if (now !== before) movedAt = performance.now()
    before = now
  }
  // Replies that a start repeats by mistake have arrived by now.
  await gateway.ready
  await pause(500)
  gateway.signal('SIGTERM')
  const how = await gateway.ended
  if (how !== 0) throw new Error(`the last gateway did not stop cleanly (${how}): ${gateway.log()}`)
}

/** The texts of the dead letters of the inbox. */
function givenUpTexts(home: string): string[] {
  const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true })
  try {
    const rows = db.prepare("select json_extract(payload, '$.text') as text from inbox where state = 'dead'").all()
    return rows.map(({ text }) => String(text))
  } finally {
    db.close()
  }
}
