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

export interface ThreadRequest extends Omit<VisibleSessionsRequest, 'words'> {
  /** An FTS5 expression. */
  readonly match?: string
}

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
  const threadRequest: ThreadRequest = { ...request, ...(match === undefined ? {} : { match }) }
  const worker = new Worker(new URL('./visible-sessions-thread.ts', import.meta.url), { workerData: threadRequest })
  try {
    const [rows] = await once(worker, 'message', { signal })
    return rowsShape.parse(rows)
  } finally {
    await worker.terminate()
  }
}
