/**
 * The chat server of the crash tests. It delivers updates until they are acknowledged, and keeps every message.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { createPng } from '../kit/pictures.ts'
import { oggOpus } from '../kit/servers/media-server.ts'

export interface SentMessage {
  readonly id: string
  readonly chat: string
  text: string
  /** True until a final text replaces the draft. */
  draft: boolean
}

export interface ChatServer {
  readonly url: string
  readonly messages: readonly SentMessage[]
  /** A user sends a message. */
  say(chat: string, text: string): void
  /** Resolves when `done` returns true. It is called after each request. Rejects with the messages after `limitMs`, if given. */
  until(done: (messages: readonly SentMessage[]) => boolean, limitMs?: number): Promise<void>
  /** Resolves when the gateway has acknowledged everything that users have sent. */
  untilAcknowledged(): Promise<void>
  close(): Promise<void>
}

export async function startChatServer(): Promise<ChatServer> {
  const updates: { id: number; chat: string; text: string }[] = []
  const messages: SentMessage[] = []
  const watchers = new Set<() => void>()
  const polls = new Set<() => void>()
  let acknowledged = 0

  const pendingUpdates = () => updates.filter(({ id }) => id >= acknowledged)

  async function updatesFrom(offset: number): Promise<unknown> {
    acknowledged = Math.max(acknowledged, offset)
    for (const check of watchers) check()
    if (pendingUpdates().length === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000)
        polls.add(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
    // Two at a time, so that a kill can separate acknowledged updates from others.
    return pendingUpdates().slice(0, 2)
  }

  function storeMessage(path: string, body: { text: string; kind: string; chat: string; messageId?: string }): unknown {
    const existing = messages.find(({ id }) => id === body.messageId)
    if (path === '/edit' && existing !== undefined) {
      existing.text = body.text
      existing.draft = body.kind === 'draft'
      return { messageId: existing.id }
    }
    const id = `m${messages.length + 1}`
    messages.push({ id, chat: body.chat, text: body.text, draft: body.kind === 'draft' })
    return { messageId: id }
  }

  function until(done: (messages: readonly SentMessage[]) => boolean, limitMs?: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = () => {
        if (!done(messages)) return
        finish()
        resolve()
      }
      const reachLimit = () => {
        finish()
        reject(new Error(`timed out after ${limitMs} ms; messages: ${JSON.stringify(messages)}`))
      }
      const timer = limitMs === undefined ? undefined : setTimeout(reachLimit, limitMs)
      const finish = () => {
        clearTimeout(timer)
        watchers.delete(check)
      }
      watchers.add(check)
      check()
    })
  }

  const server = createServer(async (request, response) => {
    if (request.url?.startsWith('/files/'))
      return void response.end(request.url === '/files/voice' ? oggOpus(3) : createPng())
    const body = await readJson(request)
    const result = request.url === '/updates' ? await updatesFrom(body.offset) : storeMessage(request.url ?? '', body)
    response.end(JSON.stringify(result))
    for (const check of watchers) check()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0

  return {
    url: `http://127.0.0.1:${port}`,
    messages,
    say(chat, text) {
      updates.push({ id: updates.length + 1, chat, text })
      for (const wake of polls) wake()
      polls.clear()
    },
    until,
    untilAcknowledged: () => until(() => pendingUpdates().length === 0),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readJson(request: IncomingMessage) {
  let text = ''
  for await (const piece of request) text += piece
  return JSON.parse(text === '' ? '{}' : text)
}
