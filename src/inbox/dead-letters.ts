/**
 * What people look at: events that need somebody, with what can be done about them, and what was written in a chat.
 */
import { type ChatRange, type ChatRangeParams, type ChatRef, chatRangeParams } from '../message/chat-range.ts'
import { query, row, rows, sql, type Transaction } from '../store/query.ts'
import { openCondition } from './queries.ts'

// Literal, because SQLite uses a partial index only where a query repeats its condition word for word.
const deadCondition = sql<boolean>`state = 'parked'`

/** What needs a person: parked events, and those still open. */
export const listUnfinishedEvents = query((db, p: { limit: number }) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'session_key', 'platform', 'chat_id', 'state', 'tries', 'reason', 'payload', 'accepted_at'])
    // By number, because with an `or` over both SQLite would read the whole table.
    .where('seq', 'in', (inbox) =>
      inbox
        .selectFrom('inbox')
        .select('seq')
        .where(openCondition)
        .unionAll(inbox.selectFrom('inbox').select('seq').where(deadCondition)),
    )
    .orderBy('seq')
    .limit(p.limit),
)

const requeue = query((db, p: { seq: number; now: number }) =>
  db
    .updateTable('inbox')
    .set({ state: 'queued', tries: 0, turn_id: null, reason: null, outcome: null, available_at: p.now })
    .where('seq', '=', p.seq)
    .where(deadCondition)
    .returning(['session_key', 'lane']),
)

/** Puts a parked event back to its place in the queue; undefined when there is none of this number. */
export function* retryDeadEvent(
  seq: number,
  now: number,
): Transaction<{ session_key: string; lane: 'turn' | 'control' } | undefined> {
  return yield* row(requeue, { seq, now })
}

const markDropped = query((db, p: { seq: number }) =>
  db.updateTable('inbox').set({ state: 'dropped' }).where('seq', '=', p.seq).where(deadCondition).returning('seq'),
)

/** Forgets a parked event; false when there is none of this number. */
export function* dropDeadEvent(seq: number): Transaction<boolean> {
  return (yield* row(markDropped, { seq })) !== undefined
}

const chatEventsQuery = (direction: 'asc' | 'desc') =>
  query((db, p: ChatRangeParams) =>
    db
      .selectFrom('inbox')
      .select(['seq', 'payload', 'turn_id', 'accepted_at'])
      .where('platform', '=', p.platform)
      .where('account', '=', p.account)
      .where('chat_id', '=', p.chat_id)
      .where(sql<boolean>`(accepted_at, seq) > (${p.after_at}, ${p.after_row})`)
      .where(sql<boolean>`(accepted_at, seq) < (${p.before_at}, ${p.before_row})`)
      .where('state', '!=', 'dropped')
      // Nobody wrote it: it stands under another message, or the gateway handed it in itself.
      .where('kind', 'not in', ['reaction', 'internal', 'skipped'])
      .orderBy('seq', direction)
      .limit(p.limit),
  )
const chatEventsQueries = { oldest: chatEventsQuery('asc'), newest: chatEventsQuery('desc') }

/** What people wrote in a chat, beginning at the end the span names. */
export function* listChatEvents(
  chat: ChatRef,
  span: ChatRange,
): Transaction<readonly { seq: number; payload: string; turn_id: string | null; accepted_at: number }[]> {
  return yield* rows(chatEventsQueries[span.from], chatRangeParams(chat, span))
}
