/**
 * The chat server of the benchmark and its users in a separate process. Each user writes again as soon as the reply
 * arrives.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { handleRequest } from './child-requests.ts'
import { quantile } from './stats.ts'

const updates: { id: number; chat: string; text: string }[] = []
const answered = new Map<string, () => void>()
let wake: (() => void) | undefined
let last = 0

/** Writes one message and resolves with its reply. */
function say(chat: string, word?: string): Promise<void> {
  last += 1
  updates.push({ id: last, chat, text: word ?? `message number ${last}` })
  wake?.()
  return new Promise((resolve) => answered.set(chat, resolve))
}

async function updatesFrom(offset: number): Promise<unknown> {
  while (updates[0] !== undefined && updates[0].id < offset) updates.shift()
  if (updates.length === 0) {
    const stopped = new AbortController()
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    await Promise.race([woken, pause(20_000, undefined, { signal: stopped.signal }).catch(() => undefined)])
    stopped.abort()
  }
  return updates
}

const bodySchema = z.object({ offset: z.number().optional(), chat: z.string().optional() })

async function bodyOf(request: IncomingMessage): Promise<z.infer<typeof bodySchema>> {
  let text = ''
  for await (const piece of request) text += piece
  return bodySchema.parse(JSON.parse(text))
}

const server = createServer(async (request, response) => {
  const { offset = 0, chat = '' } = await bodyOf(request)
  if (request.url === '/updates') return response.end(JSON.stringify(await updatesFrom(offset)))
  response.end('{}')
  answered.get(chat)?.()
  return answered.delete(chat)
})
server.keepAliveTimeout = 60_000
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const address = server.address()
const port = typeof address === 'object' && address !== null ? address.port : 0

handleRequest('url', z.looseObject({}), () => `http://127.0.0.1:${port}`)

const loadSchema = z.object({
  run: z.string(),
  /** Users who write at the same time. */
  chats: z.number(),
  turns: z.number(),
  /** The chats of each user, used in turn. */
  sessionsEach: z.number(),
  /** Delay between a reply and the next message; 0 for none. */
  pauseMs: z.number().default(0),
  /** The text of each message; three words and a number if left out. */
  word: z.string().optional(),
})

handleRequest('load', loadSchema, async ({ run, chats, turns, sessionsEach, pauseMs, word }) => {
  const times: number[] = []
  let left = turns
  const person = async (slot: number) => {
    for (let done = 0; left > 0; done++) {
      left -= 1
      const begun = performance.now()
      await say(`${run}-${slot}-${done % sessionsEach}`, word)
      times.push(performance.now() - begun)
      if (pauseMs > 0) await pause(pauseMs)
    }
  }
  const begun = performance.now()
  await Promise.all(Array.from({ length: chats }, (_, slot) => person(slot)))
  return { ms: performance.now() - begun, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
})
process.send?.('up')
