/**
 * The messages of people and of the agent in the order in which they were stored, for clients that read on from a number.
 */
import { query, row, rows, sql, type Transaction } from '../store/query.ts'

/** A stored message. Its number grows with every message, also over restarts, and is never used twice. */
export interface FeedMessage {
  readonly id: number
  readonly role: 'user' | 'assistant'
  /** At most 20,000 characters. */
  readonly text: string
  /** Characters of the whole text. */
  readonly length: number
  readonly turn_id: string
  readonly session_id: string
  readonly session_key: string
  readonly platform: string
  /** ms since 1970. */
  readonly created_at: number
}

const maxChars = 20_000

// A copy of a message in another session keeps the turn of the original, which belongs to the first session.
const selectAfter = query((db, p: { after: number; until: number; limit: number }) =>
  db
    .selectFrom('messages')
    .innerJoin('turns', (join) =>
      join.onRef('turns.id', '=', 'messages.turn_id').onRef('turns.session_id', '=', 'messages.session_id'),
    )
    .innerJoin('sessions', 'sessions.id', 'messages.session_id')
    .select([
      'messages.id',
      'messages.role',
      sql<string>`substr(messages.content, 1, ${sql.lit(maxChars)})`.as('text'),
      sql<number>`length(messages.content)`.as('length'),
      'messages.turn_id',
      'messages.session_id',
      'sessions.session_key',
      'sessions.platform',
      'messages.created_at',
    ])
    .where('messages.id', '>', p.after)
    .where('messages.id', '<=', p.until)
    .where('messages.role', 'in', ['user', 'assistant'])
    .where('messages.content', '!=', '')
    .where('messages.is_summary', '=', 0)
    .where('messages.superseded', '!=', -2)
    .orderBy('messages.id')
    .limit(p.limit),
)

/** The messages with a number above `after`, up to `until`, in order. */
export function* listMessagesAfter(after: number, until: number, limit: number): Transaction<readonly FeedMessage[]> {
  const records = yield* rows(selectAfter, { after, until, limit })
  return records.flatMap(({ role, turn_id, ...rest }) =>
    role === 'tool' || turn_id === null ? [] : [{ ...rest, role, turn_id }],
  )
}

const selectBounds = query((db, _: Record<never, never>) =>
  db.selectFrom('messages').select((of) => [of.fn.min('id').as('first'), of.fn.max('id').as('last')]),
)

/** The smallest and the largest number of all messages; 0 when there are none. */
export function* messageBounds(): Transaction<{ readonly first: number; readonly last: number }> {
  const bounds = yield* row(selectBounds, {})
  return { first: bounds?.first ?? 0, last: bounds?.last ?? 0 }
}
