/**
 * The messages of a whole conversation as they were said, for trajectories.
 */
import { query, row, rows, type Transaction } from '../store/query.ts'

const selectSaid = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages')
    .leftJoin('texts', 'texts.id', 'messages.text_id')
    .select(['role', 'content', 'texts.body', 'tool_calls', 'tool_call_id', 'tool_name', 'provider_data'])
    .where('session_id', '=', p.session_id)
    // Those below zero were taken back, or belong to a failed turn.
    .where('superseded', '>=', 0)
    .where('is_summary', '=', 0)
    .orderBy('ord'),
)

const selectSession = query((db, p: { id: string }) =>
  db
    .selectFrom('sessions')
    .leftJoin('sessions as parent', (join) =>
      join.onRef('parent.id', '=', 'sessions.parent_id').on('parent.end_reason', '=', 'compression'),
    )
    .select(['sessions.id', 'parent.id as continues'])
    .where('sessions.id', '=', p.id),
)

export interface SaidMessage {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string
  /** JSON; null for none. */
  readonly tool_calls: string | null
  readonly tool_call_id: string | null
  readonly tool_name: string | null
  /** JSON; null for none. */
  readonly provider_data: string | null
}

/** More sessions before this one are not read. */
const maxContinued = 100

/**
 * Also those that a summary has replaced, and those of the sessions that this one continues. Without summaries, system prompts
 * and what is only sent, such as notices about the limit of steps. Undefined for an unknown session.
 */
export function* readSaidMessages(sessionId: string): Transaction<SaidMessage[] | undefined> {
  let session = yield* row(selectSession, { id: sessionId })
  if (session === undefined) return undefined
  const said: SaidMessage[] = []
  for (let count = 0; session !== undefined && count < maxContinued; count += 1) {
    const found = yield* rows(selectSaid, { session_id: session.id })
    said.unshift(...found.map(({ body, content, ...rest }) => ({ ...rest, content: body ?? content })))
    session = session.continues === null ? undefined : yield* row(selectSession, { id: session.continues })
  }
  return said
}
