/**
 * Reads the sessions that one person may see: those of one chat, and in a direct message also the person's other direct
 * messages with the same bot. It runs in a thread, because a search may take long.
 */
import { z } from 'zod'
import { toMatchExpression } from './reader.ts'
import { createReaderThread } from './reader-thread.ts'

export interface SessionScope {
  readonly sessionKey: string
  /** The person in a direct message; undefined elsewhere, and for a person without a user id. */
  readonly direct?: { readonly platform: string; readonly account: string; readonly userId: string }
}

export interface VisibleSessionsRequest {
  readonly scope: SessionScope
  readonly limit: number
  /** All must occur in a message. Undefined lists sessions. */
  readonly words?: string
  /** Lists only the session with this id. */
  readonly id?: string | undefined
}

export interface InsightsRequest {
  /** Null for all sessions of the gateway. */
  readonly scope: SessionScope | null
  /** ms since 1970. */
  readonly since: number
}

export type ThreadRequest = { readonly database: string } & (
  | (Omit<VisibleSessionsRequest, 'words'> & {
      readonly kind: 'rows'
      /** An FTS5 expression. */
      readonly match?: string | undefined
    })
  | (InsightsRequest & { readonly kind: 'insights' })
)

const rowShape = z.object({ session: z.string(), at: z.number(), role: z.string(), text: z.string() })
const rowsShape = z.array(rowShape)

/** `role` is '' and `text` is the title or the first message for a session; for a message it is an excerpt. */
export type VisibleRow = z.output<typeof rowShape>

const spent = { tokens: z.number(), cost: z.number(), unpricedTokens: z.number() }

const insightsShape = z.object({
  sessions: z.number(),
  messages: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cost: z.number(),
  unpricedTokens: z.number(),
  days: z.array(z.object({ day: z.string(), sessions: z.number(), ...spent })),
  models: z.array(z.object({ model: z.string(), ...spent })),
  tools: z.array(z.object({ name: z.string(), calls: z.number() })),
})

/** Both reject with the reason of the signal, with an `Error` that says what failed, and with `store/too-many-reads`. */
export interface VisibleSessions {
  /** The newest first. */
  list(request: VisibleSessionsRequest, signal: AbortSignal): Promise<readonly VisibleRow[]>
  /** Counts of sessions, messages, tokens and tool calls. */
  insights(request: InsightsRequest, signal: AbortSignal): Promise<z.output<typeof insightsShape>>
}

/** @param database its path */
export function createVisibleSessions(database: string): VisibleSessions {
  const thread = createReaderThread(new URL('./visible-sessions-thread.ts', import.meta.url))
  const ask = (request: ThreadRequest, signal: AbortSignal) => thread.ask(request, signal)
  return {
    async list({ words, ...request }, signal) {
      signal.throwIfAborted()
      const match = words === undefined ? undefined : toMatchExpression(words)
      if (match === '') return []
      const answer = await ask({ ...request, database, kind: 'rows', match }, signal)
      return rowsShape.parse(answer)
    },
    insights: async (request, signal) =>
      insightsShape.parse(await ask({ ...request, database, kind: 'insights' }, signal)),
  }
}
