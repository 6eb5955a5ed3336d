/**
 * A chat product for tests: users write, messages are shown, and calls fail on demand.
 *
 * It is an HTTP server in the process of the test, so that its messages remain when a gateway in another process is killed.
 * `installFakePlatform` installs its adapter in a home directory.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import type { ChatType, FoundChat, PressResult, SendFailureKind } from '../../src/sdk.ts'
import {
  albumIn,
  createShownMessages,
  messageIn,
  type ShownMessage,
  type WireMessage,
} from './fake-platform-messages.ts'
import type { FakeFile, FakeUpdate } from './fake-platform-updates.ts'

export type { ShownMessage } from './fake-platform-messages.ts'

export interface UserMessage {
  readonly chat?: string
  readonly chatType?: ChatType
  readonly user?: string
  readonly thread?: string
  /** The title of the chat. */
  readonly title?: string
  readonly isBot?: boolean
  /** When it was written, ms; default: when it is received. */
  readonly at?: number
  /** The message id. The same id delivers the same message again. */
  readonly id?: string
}

export interface FakePlatform {
  readonly url: string
  readonly token: string
  /** A user sends a message. Resolves when the gateway has acknowledged it. */
  say(text: string, options?: UserMessage): Promise<void>
  /** A user presses the button with this label. Resolves with the result of the gateway. */
  press(message: ShownMessage, label: string, options?: UserMessage): Promise<PressResult>
  /** A user edits, deletes or reacts to the message with this id. Resolves like `say`. */
  edit(id: string, text: string, options?: UserMessage): Promise<void>
  remove(id: string, options?: UserMessage): Promise<void>
  react(id: string, emoji: string, options?: UserMessage): Promise<void>
  /** A user sends a file. Resolves like `say`. */
  attach(file: Omit<FakeFile, 'id' | 'bytes'> & { readonly bytes: Uint8Array }, options?: UserMessage): Promise<void>
  /** Holds downloads until `release`. `asked` resolves at the first download. */
  holdFiles(): { readonly asked: Promise<void>; release(): void }
  /** Delivers a message of the bot itself. Resolves like `say`. */
  echo(text: string, options?: UserMessage): Promise<void>
  /** The messages of the bot, oldest first. */
  shown(chat?: string): readonly ShownMessage[]
  /** Resolves with the first message of the bot that matches. */
  until(matches: (message: ShownMessage) => boolean): Promise<ShownMessage>
  /** The next sends or edits fail with this kind. */
  failNext(problem: SendFailureKind, options?: { times?: number; retryAfterMs?: number }): void
  /** Stores the next message, but loses the response. */
  dropResponse(): void
  /** Removes a message of the bot. */
  removeShown(id: string): void
  /** Rejects messages to this chat from now on, as if the bot had been removed. */
  loseChat(chat: string): void
  /** The chats that the bot can find by name. */
  nameChats(chats: readonly FoundChat[]): void
  /** Takes messages to this chat again. */
  findChat(chat: string): void
  /** Answers the next edit with "not modified". */
  answerNotModified(): void
  /** Resets all connections until `reconnect`. */
  disconnect(): void
  reconnect(): void
  /** Rejects or accepts the token from now on. */
  refuseToken(refused: boolean): void
  /** Number of calls of this route: `POST /messages`. */
  calls(of: string): number
  close(): Promise<void>
}

/** Time limit of a long poll. */
const pollLimitMs = 20_000
const statuses: Record<SendFailureKind, number> = {
  'rate-limited': 429,
  temporary: 503,
  rejected: 400,
  unauthorised: 401,
}

export async function startFakePlatform(token = 'fake-token'): Promise<FakePlatform> {
  let updates: FakeUpdate[] = []
  let lastUpdate = 0
  let polls: (() => void)[] = []
  const acknowledged = new Map<number, () => void>()
  const presses = new Map<number, (answer: PressResult) => void>()
  const messages = createShownMessages()
  const failures: { problem: SendFailureKind; retryAfterMs: number }[] = []
  const counts = new Map<string, number>()
  const files = new Map<string, Uint8Array>()
  const lostChats = new Set<string>()
  let namedChats: readonly FoundChat[] = []
  let fileAsked = (): Promise<void> => Promise.resolve()
  let responsesToDrop = 0
  let notModified = 0
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
    say: (text, options) => dispatch(text, options),
    edit: (id, text, options) => dispatch(text, { ...options, id }, { change: 'edited' }),
    remove: (id, options) => dispatch('', { ...options, id }, { change: 'deleted' }),
    react: (id, emoji, options) => dispatch('', { ...options, id }, { reaction: emoji }),
    attach({ bytes, ...about }, options) {
      const file = { ...about, id: `f${files.size + 1}`, bytes: bytes.length }
      files.set(file.id, bytes)
      return dispatch('', options, { file })
    },
    holdFiles() {
      const asked = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      fileAsked = () => {
        asked.resolve()
        return released.promise
      }
      return { asked: asked.promise, release: released.resolve }
    },
    echo: (text, options) => dispatch(text, options, { own: true }),
    press(message, label, options = {}) {
      const button = message.buttons.find((one) => one.label === label)
      if (button === undefined) throw new Error(`${message.id} has no button ${label}: ${JSON.stringify(message)}`)
      const result = Promise.withResolvers<PressResult>()
      const number = queueUpdate(
        '',
        { chat: message.chat, ...options },
        { press: { button: button.id, message: message.id } },
      )
      presses.set(number, result.resolve)
      wakePolls()
      return result.promise
    },
    shown: (chat) => messages.all.filter((message) => chat === undefined || message.chat === chat),
    until: messages.until,
    failNext(problem, { times = 1, retryAfterMs = 0 } = {}) {
      for (let count = 0; count < times; count += 1) failures.push({ problem, retryAfterMs })
    },
    dropResponse() {
      responsesToDrop += 1
    },
    removeShown: (id) => void messages.remove(id),
    loseChat: (chat) => void lostChats.add(chat),
    nameChats(chats) {
      namedChats = chats
    },
    findChat: (chat) => void lostChats.delete(chat),
    answerNotModified() {
      notModified += 1
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

  /** Delivers an update. Resolves when the gateway has acknowledged it. */
  function dispatch(text: string, options: UserMessage = {}, change: Partial<FakeUpdate> = {}): Promise<void> {
    const result = Promise.withResolvers<void>()
    acknowledged.set(queueUpdate(text, options, change), result.resolve)
    wakePolls()
    return result.promise
  }

  /** Queues an update and returns its number. */
  function queueUpdate(text: string, options: UserMessage, change: Partial<FakeUpdate>): number {
    lastUpdate += 1
    const { chat = 'chat', chatType = 'dm', user = 'user', id = String(lastUpdate), ...rest } = options
    updates.push({ update: lastUpdate, id, chat, chatType, user, text, ...rest, ...change })
    return lastUpdate
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fake')
    const [, what = '', id = ''] = pathname.split('/').map(decodeURIComponent)
    const call = `${request.method} /${what}`
    counts.set(call, (counts.get(call) ?? 0) + 1)
    if (away) return void request.socket.destroy()
    if (refused || request.headers.authorization !== `Bearer ${token}`) return answer(response, 401, 'wrong token')
    switch (call) {
      case 'GET /updates':
        return poll(Number(searchParams.get('after')), response)
      case 'GET /find':
        return answer(response, 200, findIds(searchParams.get('key')))
      case 'GET /chats':
        return answer(response, 200, namedChats)
      case 'GET /files':
        await fileAsked()
        return void response.end(files.get(id))
      case 'POST /presses':
        presses.get(Number(id))?.(pressAnswerIn(await text(request)))
        break
      case 'POST /messages':
        return write(messageIn(await json(request)), messages.post, response)
      case 'POST /albums':
        return writeAlbum(albumIn(await json(request)), response)
      case 'PUT /messages':
        if (notModified === 0)
          return write(messageIn(await json(request)), (body) => messages.rewrite(id, body), response)
        notModified -= 1
        return answer(response, 409, 'not modified')
      case 'DELETE /messages':
        return answer(response, messages.remove(id) ? 200 : 400, {})
    }
    answer(response, 200, {})
  }

  function write(
    body: WireMessage,
    apply: (body: WireMessage) => ShownMessage | undefined,
    response: ServerResponse,
  ): void {
    change(
      body.chat,
      () => apply(body),
      response,
      ({ id }) => ({ messageId: id }),
    )
  }

  function writeAlbum(album: readonly WireMessage[], response: ServerResponse): void {
    const post = () => album.map(messages.post)
    change(album[0]?.chat ?? '', post, response, (posted) => ({ messageIds: posted.map(({ id }) => id) }))
  }

  function findIds(key: string | null) {
    const ids = messages.all.filter((message) => message.key === key).map(({ id }) => id)
    return { id: ids[0], ids }
  }

  function change<Shown>(
    chat: string,
    apply: () => Shown | undefined,
    response: ServerResponse,
    resultOf: (shown: Shown) => unknown,
  ): void {
    const failure = failures.shift()
    if (failure !== undefined) {
      response.setHeader('retry-after-ms', failure.retryAfterMs)
      answer(response, statuses[failure.problem], `scripted failure: ${failure.problem}`)
      return
    }
    const isLost = lostChats.has(chat)
    const shown = isLost ? undefined : apply()
    if (isLost) answer(response, 410, 'there is no such chat')
    else if (shown === undefined) answer(response, 400, 'there is no such chat or message')
    else if (responsesToDrop === 0) answer(response, 200, resultOf(shown))
    else {
      responsesToDrop -= 1
      response.socket?.destroy()
    }
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
}

function pressAnswerIn(body: string): PressResult {
  return JSON.parse(body)
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.statusCode = status
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/**
 * Writes the platform `fake` into `<home>/platforms/fake`. The config then needs
 * `platforms: {fake: {url, token, allow_from, abilities?: [edit, resolve, buttons, receive, remove, typing, files, albums]}}`.
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
