/**
 * The chat server of the soak. It forgets what was delivered, so that it can run for hours.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { z } from 'zod'

/** The memory of the gateway process, in bytes. */
export interface ProcessMemory {
  readonly heapUsed: number
  readonly heapTotal: number
  readonly external: number
  readonly arrayBuffers: number
}

export interface SoakChat {
  readonly url: string
  /** Writes a message of a user and resolves with the first complete text that contains `expected`. Rejects late. */
  ask(chat: string, text: string, expected: string): Promise<void>
  /** Reports the memory figures of every poll. */
  onMemory: ((memory: ProcessMemory) => void) | undefined
  close(): Promise<void>
}

const bodySchema = z.object({
  offset: z.number().default(0),
  memory: z
    .object({ heapUsed: z.number(), heapTotal: z.number(), external: z.number(), arrayBuffers: z.number() })
    .optional(),
  chat: z.string().default(''),
  text: z.string().default(''),
  kind: z.string().default(''),
  messageId: z.string().optional(),
})

interface Waiting {
  readonly expected: string
  resolve(): void
}

const pollMs = 10_000
const answerLimitMs = 60_000

export async function startSoakChat(): Promise<SoakChat> {
  const updates: { id: number; chat: string; text: string }[] = []
  const waiting = new Map<string, Waiting>()
  let lastUpdate = 0
  let lastMessage = 0
  let wake: (() => void) | undefined

  async function updatesFrom(offset: number): Promise<unknown> {
    while (updates[0] !== undefined && updates[0].id < offset) updates.shift()
    if (updates.length === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return updates
  }

  function storeMessage({ chat, text, kind, messageId }: z.infer<typeof bodySchema>): unknown {
    const expecting = waiting.get(chat)
    if (kind !== 'draft' && expecting !== undefined && text.includes(expecting.expected)) expecting.resolve()
    lastMessage += 1
    return { messageId: messageId ?? `m${lastMessage}` }
  }

  const server = createServer(async (request, response) => {
    const body = bodySchema.parse(JSON.parse(await readText(request)))
    if (body.memory !== undefined) chat.onMemory?.(body.memory)
    const result = request.url === '/updates' ? await updatesFrom(body.offset) : storeMessage(body)
    response.end(JSON.stringify(result))
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0

  const chat: SoakChat = {
    url: `http://127.0.0.1:${port}`,
    onMemory: undefined,
    ask(chatId, text, expected) {
      return new Promise((resolve, reject) => {
        const finish = () => {
          clearTimeout(timer)
          waiting.delete(chatId)
        }
        const timer = setTimeout(() => {
          finish()
          reject(new Error(`no answer to "${text.slice(0, 40)}" within ${answerLimitMs / 1_000} s`))
        }, answerLimitMs)
        waiting.set(chatId, {
          expected,
          resolve() {
            finish()
            resolve()
          },
        })
        lastUpdate += 1
        updates.push({ id: lastUpdate, chat: chatId, text })
        wake?.()
      })
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return chat
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += piece
  return text
}
