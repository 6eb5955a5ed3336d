/**
 * The messages of a whole conversation as they were said, for trajectories.
 */
import { query, row, rows, sql, type Transaction } from '../store/query.ts'
import { isOriginal } from './session-list.ts'

/** Taken back, or of a failed turn. The shortened copy of a result is the one that was taken back. */
const isWithdrawn = sql<number>`(m.superseded < 0 or exists (select 1 from messages c where c.session_id = m.session_id
  and c.ord = m.ord and c.id > m.id and c.superseded < 0 and c.is_summary = 0))`

const selectSaid = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages as m')
    .leftJoin('texts', 'texts.id', 'm.text_id')
    .select(['m.role', 'm.content', 'texts.body', 'm.tool_calls', 'm.tool_call_id', 'm.tool_name', 'm.provider_data'])
    .select(['m.ord', 'm.turn_id', 'm.created_at', isWithdrawn.as('withdrawn')])
    .where('m.session_id', '=', p.session_id)
    .where('m.is_summary', '=', 0)
    .where(isOriginal)
    .orderBy('m.ord')
    .orderBy('m.id'),
)
type StoredMessage = NonNullable<typeof selectSaid.types>['row']

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
 * Includes messages that a summary has replaced, and those of the sessions that this one continues. Without
 * summaries, system prompts and what is only sent, such as notices about the limit of steps. Undefined for an unknown
 * session.
 */
export function* readSaidMessages(sessionId: string): Transaction<SaidMessage[] | undefined> {
  let session = yield* row(selectSession, { id: sessionId })
  if (session === undefined) return undefined
  let said: StoredMessage[] = []
  const withdrawn = new Set<string>()
  for (let count = 0; session !== undefined && count < maxContinued; count += 1) {
    const messages = yield* rows(selectSaid, { session_id: session.id })
    const copied = new Set(messages.map(identityOf))
    said = [
      ...messages.filter((message) => message.withdrawn === 0 && !withdrawn.has(identityOf(message))),
      ...said.filter((message) => !copied.has(identityOf(message))),
    ]
    for (const message of messages) if (message.withdrawn === 1) withdrawn.add(identityOf(message))
    session = session.continues === null ? undefined : yield* row(selectSession, { id: session.continues })
  }
  return said.map(({ body, content, role, tool_calls, tool_call_id, tool_name, provider_data }) => ({
    ...{ role, content: body ?? content, tool_calls, tool_call_id, tool_name, provider_data },
  }))
}

/** A session that continues another one begins with copies of the messages that were kept. */
function identityOf({ ord, turn_id, created_at }: StoredMessage): string {
  return JSON.stringify([ord, turn_id, created_at])
}
