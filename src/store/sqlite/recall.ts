/**
 * Reads earlier conversations for a turn, in a thread with a read-only connection, so that no turn waits for a search. The
 * thread ends when it has had nothing to do for a while.
 */
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { toError } from '../../lib/errors.ts'
import { onAbort } from '../../lib/timers.ts'
import type { SessionScope } from './visible-sessions.ts'

interface RecallBase {
  readonly scope: SessionScope
  /** The session that the model reads already; '' for none. */
  readonly current: string
}

export type RecallThreadRequest =
  | (RecallBase & {
      readonly kind: 'discover'
      readonly query: string
      /** Roles with commas. */
      readonly roles: string
      readonly sort: 'relevance' | 'newest' | 'oldest'
      readonly limit: number
    })
  | (RecallBase & { readonly kind: 'browse'; readonly limit: number })
  /** Around a message, or the beginning and the end of the session. */
  | (RecallBase & {
      readonly kind: 'read'
      readonly session: string
      readonly around: number | null
      /** Messages on each side. */
      readonly window: number
    })

const rowShape = z.object({
  id: z.number(),
  role: z.string(),
  /** The first 8,000 characters. */
  content: z.string(),
  /** Of the whole text, at most 65,536. */
  length: z.number(),
  /** ms since 1970. */
  at: z.number(),
  toolName: z.string().optional(),
  /** JSON of the calls. */
  toolCalls: z.string().optional(),
})
const sessionShape = z.object({
  session: z.string(),
  /** '' for none. */
  title: z.string(),
  source: z.string(),
  startedAt: z.number(),
  lastActive: z.number(),
  messages: z.number(),
  /** The beginning of the first message. */
  preview: z.string(),
})
/** `before` and `after`: how many of the rows precede and follow the anchor. */
const windowShape = z.object({ rows: z.array(rowShape), before: z.number(), after: z.number() })

const answerShape = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('discover'),
    results: z.array(
      sessionShape.extend({
        /** The session with which the conversation began that goes on in this one. */
        root: z.string(),
        role: z.string(),
        hit: z.number(),
        snippet: z.string(),
        view: windowShape,
        start: z.array(rowShape),
        end: z.array(rowShape),
      }),
    ),
  }),
  z.object({ kind: z.literal('browse'), sessions: z.array(sessionShape) }),
  z.object({ kind: z.literal('read'), session: sessionShape, view: windowShape, end: z.array(rowShape) }),
  /** There is no such session or message that the person may see. */
  z.object({ kind: z.literal('absent') }),
])

export type RecallRow = z.output<typeof rowShape>
export type RecallSession = z.output<typeof sessionShape>
export type RecallWindow = z.output<typeof windowShape>
export type RecallAnswer = z.output<typeof answerShape>

export interface Recall {
  /** Rejects with an `Error` whose message says what failed, and with the reason of the signal. */
  read(request: RecallThreadRequest, signal: AbortSignal): Promise<RecallAnswer>
  /** Ends the thread. */
  close(): Promise<void>
}

const replyShape = z.union([
  z.object({ id: z.number(), answer: answerShape }),
  z.object({ id: z.number(), problem: z.string() }),
])

/** A search that takes longer is given up. */
const timeoutMs = 10_000
const idleMs = 60_000

interface Waiting {
  resolve(answer: RecallAnswer): void
  reject(error: Error): void
}

export function createRecall(database: string): Recall {
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let lastId = 0
  const waiting = new Map<number, Waiting>()

  function start(): Worker {
    const started = new Worker(new URL('./recall-thread.ts', import.meta.url), { workerData: { database } })
    started.unref()
    started.on('message', (message: unknown) => {
      const reply = replyShape.parse(message)
      const request = waiting.get(reply.id)
      if ('problem' in reply) request?.reject(new Error(reply.problem))
      else request?.resolve(reply.answer)
    })
    started.on('error', (error) => {
      if (worker === started) void end(toError(error))
    })
    worker = started
    return started
  }

  async function end(reason: Error): Promise<void> {
    const ended = worker
    worker = undefined
    clearTimeout(idle)
    for (const request of waiting.values()) request.reject(reason)
    await ended?.terminate()
  }

  function settled(id: number): void {
    waiting.delete(id)
    if (waiting.size > 0 || worker === undefined) return
    idle = setTimeout(() => void end(new Error('the search thread is closed')), idleMs)
    idle.unref()
  }

  return {
    async read(request, signal) {
      signal.throwIfAborted()
      clearTimeout(idle)
      lastId += 1
      const id = lastId
      const { promise, resolve, reject } = Promise.withResolvers<RecallAnswer>()
      waiting.set(id, { resolve, reject })
      // Keeps the process alive: the thread itself does not.
      const timer = setTimeout(() => {
        void end(new Error(`the search took longer than ${timeoutMs / 1_000} seconds`))
      }, timeoutMs)
      const stopListening = onAbort(signal, () => reject(signal.reason))
      const thread = worker ?? start()
      thread.postMessage({ id, request })
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        stopListening()
        settled(id)
      }
    },
    close: () => end(new Error('the gateway is stopping')),
  }
}
