/**
 * Reads the sessions that one person may see: those of one chat, and in a direct message also the person's other direct
 * messages with the same bot. It runs in a thread of its own, because a search may take long.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { toMatchExpression } from './reader.ts'

export interface SessionScope {
  readonly sessionKey: string
  /** The person in a direct message; undefined elsewhere, and for a person without a user id. */
  readonly direct?: { readonly platform: string; readonly account: string; readonly userId: string }
}

export interface VisibleSessionsRequest {
  readonly database: string
  readonly scope: SessionScope
  readonly limit: number
  /** All must occur in a message. Undefined lists sessions. */
  readonly words?: string
}

export interface InsightsRequest {
  readonly database: string
  /** Null for all sessions of the gateway. */
  readonly scope: SessionScope | null
  /** ms since 1970. */
  readonly since: number
}

export type ThreadRequest =
  | (Omit<VisibleSessionsRequest, 'words'> & {
      readonly kind: 'rows'
      /** An FTS5 expression. */
      readonly match?: string
    })
  | (InsightsRequest & { readonly kind: 'insights' })

const rowShape = z.object({ session: z.string(), at: z.number(), role: z.string(), text: z.string() })
const rowsShape = z.array(rowShape)

/** `role` is '' and `text` is the title or the first message for a session; for a message it is an excerpt. */
export type VisibleRow = z.output<typeof rowShape>

/** The newest first. Rejects with the error of SQLite, and with the reason of the signal. */
export async function readVisibleSessions(
  { words, ...request }: VisibleSessionsRequest,
  signal: AbortSignal,
): Promise<readonly VisibleRow[]> {
  signal.throwIfAborted()
  const match = words === undefined ? undefined : toMatchExpression(words)
  if (match === '') return []
  return rowsShape.parse(
    await readInThread({ ...request, kind: 'rows', ...(match === undefined ? {} : { match }) }, signal),
  )
}

const insightsShape = z.object({
  sessions: z.number(),
  messages: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  days: z.array(z.object({ day: z.string(), sessions: z.number(), tokens: z.number() })),
  tools: z.array(z.object({ name: z.string(), calls: z.number() })),
})

/** Counts of sessions, messages, tokens and tool calls. Rejects as `readVisibleSessions`. */
export async function readVisibleInsights(
  request: InsightsRequest,
  signal: AbortSignal,
): Promise<z.output<typeof insightsShape>> {
  signal.throwIfAborted()
  return insightsShape.parse(await readInThread({ ...request, kind: 'insights' }, signal))
}

async function readInThread(workerData: ThreadRequest, signal: AbortSignal): Promise<unknown> {
  const worker = new Worker(new URL('./visible-sessions-thread.ts', import.meta.url), { workerData })
  try {
    const [found] = await once(worker, 'message', { signal })
    return found
  } finally {
    await worker.terminate()
  }
}
