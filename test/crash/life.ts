/**
 * One life story: people write, the gateway is killed at a named point, starts again, and must have lost and doubled nothing.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { type ChatServer, type SentMessage, startChatServer } from './chat-server.ts'

/** Where the process can be made to die. `hits`: how often the story passes there, at least. */
export interface KillPoint {
  readonly name: string
  readonly hits: number
  /** A kill before this one, so that the story has something to recover from. */
  readonly after?: string
  /** The daemon is asked to stop while it works. */
  readonly drain?: boolean
}

export const killPoints: readonly KillPoint[] = [
  { name: 'inbox:before-commit', hits: 4 },
  { name: 'inbox:committed', hits: 4 },
  { name: 'wire:acknowledged', hits: 1 },
  { name: 'turn:before-claim', hits: 3 },
  { name: 'media:fetched', hits: 1 },
  { name: 'turn:claimed', hits: 3 },
  { name: 'agent:streaming', hits: 8 },
  { name: 'agent:answered', hits: 2 },
  { name: 'agent:answer-stored', hits: 2 },
  { name: 'tool:started', hits: 2 },
  { name: 'tool:effect-done', hits: 2 },
  { name: 'tool:recorded', hits: 2 },
  { name: 'draft:sent', hits: 1 },
  { name: 'draft:stored', hits: 1 },
  { name: 'turn:before-finish', hits: 3 },
  { name: 'turn:finished', hits: 3 },
  { name: 'outbox:claimed', hits: 3 },
  { name: 'outbox:accepted', hits: 3 },
  { name: 'outbox:settled', hits: 3 },
  { name: 'wire:before-send', hits: 1 },
  { name: 'wire:after-send', hits: 1 },
  { name: 'command:claimed', hits: 4 },
  { name: 'command:done', hits: 4 },
  { name: 'question:answered', hits: 1 },
  { name: 'drain:begun', hits: 1, drain: true },
  { name: 'recovery:begun', hits: 1, after: 'turn:claimed' },
  { name: 'outbox:recovering', hits: 1, after: 'outbox:claimed' },
  { name: 'recovery:done', hits: 1, after: 'agent:streaming' },
]

const limitMs = 30_000

interface Said {
  readonly chat: string
  readonly text: string
  /** What the final answer contains. */
  readonly answer: string
}

const story: readonly Said[] = [
  { chat: 'ada', text: 'first', answer: 'the answer to first' },
  { chat: 'bob', text: 'effect b1', answer: 'the answer to effect b1' },
  { chat: 'ada', text: 'effect a1', answer: 'the answer to effect a1' },
  { chat: 'bob', text: '/whoami', answer: 'Session key' },
  // A picture comes with it.
  { chat: 'ada', text: 'photo', answer: '.png (image/png, 8 bytes)]\nphoto' },
  { chat: 'cyd', text: '/new Garden', answer: 'Go on?' },
  { chat: 'cyd', text: '/approve', answer: 'New conversation: Garden' },
]

/** Answers a plain message at once, and a message with an effect after one tool call that leaves a line in a file. */
function modelReply(effects: string): (request: RecordedRequest) => ModelReply {
  return ({ body, lastUserText }) => {
    const messages = Array.isArray(body['messages']) ? body['messages'] : []
    const toolDone = messages.at(-1)?.role === 'tool'
    const effect = /^effect (\w+)$/.exec(lastUserText.trim())?.[1]
    if (effect !== undefined && !toolDone) {
      return { toolCalls: [{ name: 'terminal', arguments: { command: `echo ${effect} >> ${effects}` } }], delayMs: 1 }
    }
    return { text: `Here is, with a few more words than needed, the answer to ${lastUserText.trim()}.`, delayMs: 1 }
  }
}

/**
 * Lives one story. Rejects with what was wrong. `seed` chooses the hit at which the point kills; `furnish` puts more into
 * the home.
 */
export async function live(
  point: KillPoint,
  seed: number,
  furnish: (home: string) => Promise<void> = async () => undefined,
): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const effects = join(home, 'effects.log')
  const chat = await startChatServer()
  const model = await startOpenAiServer({ defaultReply: modelReply(effects), record: false })
  const children = new Set<ChildProcess>()
  try {
    await prepareHome(home, chat.url, model.baseUrl, point)
    await furnish(home)
    for (const { chat: name, text } of story) chat.say(name, text)
    const kills = [
      ...(point.after === undefined ? [] : [{ name: point.after, hit: 1 }]),
      { name: point.name, hit: 1 + (seed % point.hits) },
    ]
    for (const kill of kills) await liveUntilKilled(home, kill, children, point.drain === true ? chat : undefined)
    if (point.name.startsWith('wire:')) await prepareHome(home, chat.url, model.baseUrl)
    const survivor = start(home, {}, children)
    await readyOf(survivor)
    await chat.until((messages) => story.every((said) => isAnswered(said, messages)), limitMs)
    await stop(survivor)
    check(chat.messages, (await readFile(effects, 'utf8').catch(() => '')).split('\n').filter(Boolean))
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** A home whose platform speaks to this chat server; `home` is its home channel. */
export async function prepareHome(home: string, chatUrl: string, modelUrl: string, point?: KillPoint): Promise<void> {
  const wire = join(home, 'platforms', 'wire')
  await mkdir(wire, { recursive: true, mode: 0o700 })
  await cp(fileURLToPath(new URL('./wire/', import.meta.url)), wire, { recursive: true })
  const killAt = point?.name.startsWith('wire:') === true ? `, kill_at: "${point.name}"` : ''
  await writeFile(
    join(home, 'config.yaml'),
    `model: test
provider: openai
base_url: ${modelUrl}
api_key: none
http: { port: 0 }
streaming: { edit_interval: 0.005, buffer_threshold: 8 }
agent: { drain_timeout: 5 }
approvals: { destructive_slash_confirm: true }
platforms:
  wire: { enabled: true, url: "${chatUrl}", home_channel: home${killAt} }
`,
    { mode: 0o600 },
  )
}

export function start(
  home: string,
  kill: { killAt?: string; killHit?: number },
  children: Set<ChildProcess>,
): ChildProcess {
  const cache = join(tmpdir(), `hermes-crash-cache-${process.getuid?.() ?? 0}`)
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('./child.mjs', import.meta.url)), JSON.stringify({ home, ...kill })],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: cache },
    },
  )
  children.add(child)
  let log = ''
  child.stderr?.on('data', (piece) => {
    log = (log + piece).slice(-20_000)
  })
  child.once('exit', (code, signal) => {
    children.delete(child)
    if (code !== null && code !== 0)
      process.stderr.write(`a gateway under test ended with ${code} ${signal}:\n${log}\n`)
  })
  return child
}

/** Resolves when the process has died at its point; rejects when it lives on without having passed there. */
export async function liveUntilKilled(
  home: string,
  kill: { name: string; hit: number },
  children: Set<ChildProcess>,
  drained?: ChatServer,
): Promise<void> {
  const child = start(home, { killAt: kill.name, killHit: kill.hit }, children)
  if (drained !== undefined) drained.until((messages) => messages.length > 0, limitMs).then(() => child.kill('SIGTERM'))
  const ended = await exitOf(child, limitMs)
  assert.equal(ended, 'SIGKILL', `the story never came to ${kill.name} (${kill.hit})`)
}

export async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  assert.equal(await exitOf(child, limitMs), 0, 'the survivor did not stop cleanly')
}

/** Resolves when the gateway has said that it is ready. */
export function readyOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the survivor was not ready within ${limitMs} ms`)), limitMs)
    const end = (settle: () => void) => () => {
      clearTimeout(timer)
      settle()
    }
    child.stdout?.once('data', end(resolve))
    child.once(
      'exit',
      end(() => reject(new Error('the survivor ended before it was ready'))),
    )
  })
}

function exitOf(child: ChildProcess, withinMs: number): Promise<NodeJS.Signals | number | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the process did not end within ${withinMs} ms`)), withinMs)
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      resolve(signal ?? code)
    })
  })
}

function isAnswered({ chat, answer }: Said, messages: readonly SentMessage[]): boolean {
  return finals(messages).some((message) => message.chat === chat && message.text.includes(answer))
}

function finals(messages: readonly SentMessage[]): SentMessage[] {
  return messages.filter(({ draft }) => !draft)
}

/** The promises: nothing unanswered, nothing doubled without a label, no effect twice, order kept. */
function check(messages: readonly SentMessage[], effects: readonly string[]): void {
  for (const said of story) {
    const answers = finals(messages).filter(({ chat, text }) => chat === said.chat && text.includes(said.answer))
    const unlabelled = answers.filter(({ text }) => !text.includes('May be a duplicate'))
    assert.ok(answers.length >= 1, `"${said.text}" was not answered`)
    assert.ok(
      unlabelled.length <= 1,
      `"${said.text}" was answered ${unlabelled.length} times without a label: ${JSON.stringify(messages)}`,
    )
  }
  assert.equal(new Set(effects).size, effects.length, `an effect happened twice: ${effects}`)
  for (const chat of ['ada', 'bob']) {
    // Commands act at once, so only the answers of the agent have an order.
    const expected = story
      .filter((said) => said.chat === chat && !said.text.startsWith('/'))
      .map(({ answer }) => answer)
    const order = finals(messages).flatMap((message) =>
      message.chat === chat ? expected.findIndex((answer) => message.text.includes(answer)) : [],
    )
    const known = order.filter((place) => place !== -1)
    assert.deepEqual(known, [...known].sort(), `the order of ${chat} was not kept: ${JSON.stringify(messages)}`)
  }
}
