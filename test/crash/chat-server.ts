/**
 * The made-up chat product itself: delivers updates until they are acknowledged, and keeps every message it was sent.
 */
import { createServer, type IncomingMessage } from 'node:http'

export interface SentMessage {
  readonly id: string
  readonly chat: string
  text: string
  /** Still a draft: no final text has replaced it. */
  draft: boolean
}

export interface ChatServer {
  readonly url: string
  readonly messages: readonly SentMessage[]
  /** What a person writes. */
  say(chat: string, text: string): void
  /** Resolves when `done` holds; looks again after each call. Rejects after `limitMs`, with what was there. */
  until(done: (messages: readonly SentMessage[]) => boolean, limitMs: number): Promise<void>
  close(): Promise<void>
}

export async function startChatServer(): Promise<ChatServer> {
  const updates: { id: number; chat: string; text: string }[] = []
  const messages: SentMessage[] = []
  const watchers = new Set<() => void>()
  const waiting = new Set<() => void>()
  let acknowledged = 0

  const open = () => updates.filter(({ id }) => id >= acknowledged)

  async function updatesFrom(offset: number): Promise<unknown> {
    acknowledged = Math.max(acknowledged, offset)
    if (open().length === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000)
        waiting.add(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
    // Two at a time, so that some are acknowledged while others are not.
    return open().slice(0, 2)
  }

  function take(path: string, body: { text: string; kind: string; chat: string; messageId?: string }): unknown {
    const known = messages.find(({ id }) => id === body.messageId)
    if (path === '/edit' && known !== undefined) {
      known.text = body.text
      known.draft = body.kind === 'draft'
      return { messageId: known.id }
    }
    const id = `m${messages.length + 1}`
    messages.push({ id, chat: body.chat, text: body.text, draft: body.kind === 'draft' })
    return { messageId: id }
  }

  const server = createServer(async (request, response) => {
    if (request.url?.startsWith('/files/')) return void response.end(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
    const body = await readJson(request)
    const answer = request.url === '/updates' ? await updatesFrom(body.offset) : take(request.url ?? '', body)
    response.end(JSON.stringify(answer))
    for (const look of watchers) look()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0

  return {
    url: `http://127.0.0.1:${port}`,
    messages,
    say(chat, text) {
      updates.push({ id: updates.length + 1, chat, text })
      for (const wake of waiting) wake()
      waiting.clear()
    },
    until(done, limitMs) {
      return new Promise((resolve, reject) => {
        const look = () => {
          if (!done(messages)) return
          finish()
          resolve()
        }
        const timer = setTimeout(() => {
          finish()
          reject(new Error(`not reached within ${limitMs} ms; the chat holds ${JSON.stringify(messages)}`))
        }, limitMs)
        const finish = () => {
          clearTimeout(timer)
          watchers.delete(look)
        }
        watchers.add(look)
        look()
      })
    },
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
