/**
 * Reads earlier conversations for a turn, in a thread with a read-only connection, so that no turn waits for a search.
 */
import { z } from 'zod'
import { createReaderThread } from './reader-thread.ts'
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
  /** The length of the whole text, at most 65,536. */
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
    /** Not all messages were searched, because that takes too long. */
    isPartial: z.boolean(),
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
  /** Rejects as `ReaderThread`. */
  read(request: RecallThreadRequest, signal: AbortSignal): Promise<RecallAnswer>
}

/** The thread is started with the first request, and ends when it has had nothing to do for a while. */
export function createRecall(database: string): Recall {
  const thread = createReaderThread(new URL('./recall-thread.ts', import.meta.url))
  return { read: async (request, signal) => answerShape.parse(await thread.ask({ database, request }, signal)) }
}
