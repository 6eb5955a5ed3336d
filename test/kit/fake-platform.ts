/**
 * A chat product for tests, with a script: people write, messages appear, and calls fail as told.
 *
 * It is a real HTTP server in the process of the test, so a gateway in another process can be killed while what it
 * sent stays here to be counted. `installFakePlatform` puts its adapter into a home.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import type { Button, ChatType, PressAnswer, SendProblem } from '../../src/sdk.ts'
import type { FakeUpdate } from './fake-platform-adapter.ts'

export interface Writing {
  readonly chat?: string
  readonly chatType?: ChatType
  readonly user?: string
  readonly thread?: string
  readonly isBot?: boolean
  /** The platform's name of the message; the same name is the same message, delivered again. */
  readonly id?: string
}

/** A message of the gateway, as people see it now. */
export interface Shown {
  readonly id: string
  readonly key: string
  readonly chat: string
  readonly thread?: string
  readonly kind: string
  text: string
  /** Every text it had. */
  readonly versions: string[]
  /** The choices under it now. */
  buttons: readonly Button[]
}

export interface FakePlatform {
  readonly url: string
  readonly token: string
  /** A person writes. Resolves when the gateway has acknowledged it. */
  say(text: string, writing?: Writing): Promise<void>
  /** A person presses the button of this label. Resolves with what the gateway says to it. */
  press(message: Shown, label: string, writing?: Writing): Promise<PressAnswer>
  /** The messages of the gateway, oldest first. */
  shown(chat?: string): readonly Shown[]
  /** Resolves with the first message that fits, when there is one. */
  until(fits: (message: Shown) => boolean): Promise<Shown>
  /** The next sends (or edits) are answered with this problem. */
  failNext(problem: SendProblem, options?: { times?: number; retryAfterMs?: number }): void
  /** The next message is taken, but the gateway never hears of it. */
  loseAnswer(): void
  /** From now on every connection is cut; `reconnect` ends it. */
  disconnect(): void
  reconnect(): void
  /** From now on the token is wrong (or right again). */
  refuseToken(refused: boolean): void
  /** How often a call of this kind was made: `POST /messages`. */
  calls(of: string): number
  close(): Promise<void>
}

/** A held poll is answered after this time, so that nobody takes it for dead. */
const pollLimitMs = 20_000
const statuses: Record<SendProblem, number> = { 'rate-limited': 429, temporary: 503, rejected: 400, unauthorised: 401 }

export async function startFakePlatform(token = 'fake-token'): Promise<FakePlatform> {
  let updates: FakeUpdate[] = []
  let lastUpdate = 0
  let polls: (() => void)[] = []
  const acknowledged = new Map<number, () => void>()
  const presses = new Map<number, (answer: PressAnswer) => void>()
  const messages: Shown[] = []
  let watchers: { fits: (message: Shown) => boolean; resolve: (message: Shown) => void }[] = []
  const failures: { problem: SendProblem; retryAfterMs: number }[] = []
  const counts = new Map<string, number>()
  let answersToLose = 0
  let away = false
  let refused = false

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => {
      response.destroy(error)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the fake platform has no port')

  return {
    url: `http://127.0.0.1:${address.port}`,
    token,
    say(text, writing = {}) {
      const told = Promise.withResolvers<void>()
      acknowledged.set(tell(text, writing), told.resolve)
      wakePolls()
      return told.promise
    },
    press(message, label, writing = {}) {
      const button = message.buttons.find((one) => one.label === label)
      if (button === undefined) throw new Error(`${message.id} has no button ${label}: ${JSON.stringify(message)}`)
      const told = Promise.withResolvers<PressAnswer>()
      const number = tell('', { chat: message.chat, ...writing }, { button: button.id, message: message.id })
      presses.set(number, told.resolve)
      wakePolls()
      return told.promise
    },
    shown: (chat) => messages.filter((message) => chat === undefined || message.chat === chat),
    until(fits) {
      const found = messages.find(fits)
      if (found !== undefined) return Promise.resolve(found)
      return new Promise((resolve) => watchers.push({ fits, resolve }))
    },
    failNext(problem, { times = 1, retryAfterMs = 0 } = {}) {
      for (let count = 0; count < times; count += 1) failures.push({ problem, retryAfterMs })
    },
    loseAnswer() {
      answersToLose += 1
    },
    disconnect() {
      away = true
      server.closeAllConnections()
    },
    reconnect() {
      away = false
    },
    refuseToken(now) {
      refused = now
    },
    calls: (of) => counts.get(of) ?? 0,
    close() {
      wakePolls()
      server.closeAllConnections()
      return new Promise((resolve) => {
        server.close(() => resolve())
      })
    },
  }

  /** Queues what a person did; returns its number. */
  function tell(text: string, writing: Writing, press?: FakeUpdate['press']): number {
    lastUpdate += 1
    const { chat = 'chat', chatType = 'dm', user = 'user', id = String(lastUpdate), ...rest } = writing
    const pressed = press === undefined ? {} : { press }
    updates.push({ update: lastUpdate, id, chat, chatType, user, text, ...rest, ...pressed })
    return lastUpdate
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fake')
    const [, what = '', id] = pathname.split('/')
    const call = `${request.method} /${what}`
    counts.set(call, (counts.get(call) ?? 0) + 1)
    if (away) return void request.socket.destroy()
    if (refused || request.headers.authorization !== `Bearer ${token}`) return answer(response, 401, 'wrong token')
    if (call === 'GET /updates') return poll(Number(searchParams.get('after')), response)
    if (call === 'GET /find') {
      return answer(response, 200, { id: messages.find(({ key }) => key === searchParams.get('key'))?.id })
    }
    if (what === 'presses') {
      const said: PressAnswer = JSON.parse(await text(request))
      presses.get(Number(id))?.(said)
    }
    if (what !== 'messages') return answer(response, 200, {})

    const body = messageIn(await json(request))
    const failure = failures.shift()
    if (failure !== undefined) {
      response.setHeader('retry-after-ms', failure.retryAfterMs)
      return answer(response, statuses[failure.problem], `told to fail: ${failure.problem}`)
    }
    const shown = id === undefined ? post(body) : rewrite(decodeURIComponent(id), body)
    if (shown === undefined) return answer(response, 400, 'there is no such message')
    announce(shown)
    if (answersToLose > 0) {
      answersToLose -= 1
      return void request.socket.destroy()
    }
    answer(response, 200, { id: shown.id })
  }

  function poll(after: number, response: ServerResponse): void {
    for (const update of updates) if (update.update <= after) acknowledged.get(update.update)?.()
    updates = updates.filter(({ update }) => update > after)
    if (updates.length > 0) answer(response, 200, updates)
    else hold(response)
  }

  function hold(response: ServerResponse): void {
    const give = () => {
      clearTimeout(timer)
      polls = polls.filter((other) => other !== give)
      if (!response.writableEnded) answer(response, 200, updates)
    }
    const timer = setTimeout(give, pollLimitMs)
    polls.push(give)
    response.once('close', give)
  }

  function wakePolls(): void {
    for (const give of polls) give()
  }

  function post({ key, chat, thread, kind, text, buttons }: Body): Shown {
    const shown = {
      id: `m${messages.length + 1}`,
      key,
      chat,
      kind,
      text,
      versions: [text],
      buttons,
      ...(thread === undefined ? {} : { thread }),
    }
    messages.push(shown)
    return shown
  }

  function rewrite(id: string, { text, buttons }: Body): Shown | undefined {
    const shown = messages.find((message) => message.id === id)
    if (shown === undefined) return undefined
    shown.text = text
    shown.versions.push(text)
    shown.buttons = buttons
    return shown
  }

  function announce(message: Shown): void {
    const told = watchers.filter(({ fits }) => fits(message))
    watchers = watchers.filter((watcher) => !told.includes(watcher))
    for (const { resolve } of told) resolve(message)
  }
}

interface Body {
  readonly key: string
  readonly chat: string
  readonly thread?: string
  readonly kind: string
  readonly text: string
  readonly buttons: readonly Button[]
}

function messageIn(body: unknown): Body {
  const fields = new Map(Object.entries(typeof body === 'object' && body !== null ? body : {}))
  const textOf = (field: string) => String(fields.get(field) ?? '')
  const thread = fields.get('thread')
  const buttons = fields.get('buttons')
  return {
    key: textOf('key'),
    chat: textOf('chat'),
    kind: textOf('kind'),
    text: textOf('text'),
    buttons: Array.isArray(buttons) ? buttons : [],
    ...(typeof thread === 'string' ? { thread } : {}),
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.statusCode = status
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/**
 * Writes the platform `fake` into `<home>/platforms/fake`. The config then needs
 * `platforms: {fake: {url, token, allow_from, abilities?: [edit, resolve, buttons, receive]}}`.
 */
export function installFakePlatform(home: string, name = 'fake'): void {
  const folder = join(home, 'platforms', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'plugin.yaml'), manifest(name))
  const adapter = new URL('./fake-platform-adapter.ts', import.meta.url).href
  writeFileSync(join(folder, 'adapter.ts'), `export { default } from '${adapter}'\n`)
}

const manifest = (name: string) => `name: ${name}
kind: platform
description: A chat product for tests.
access: allowlist
accounts: true
environment:
  ${name.toUpperCase()}_TOKEN: {key: token}
config_schema:
  url: {type: string, required: true}
  token: {type: string, required: true, secret: true}
  abilities: {type: list, default: [edit, resolve]}
`
