/**
 * What people look at: events that need somebody, with what can be done about them, and what was written in a chat.
 */
import { type ChatName, type ChatSpan, type SpanParams, spanParams } from '../message/chat-span.ts'
import { query, row, rows, sql, type UseCase } from '../store/query.ts'
import { open } from './queries.ts'

// Literal, because SQLite uses a partial index only where a query repeats its condition word for word.
const parked = sql<boolean>`state = 'parked'`

/** What needs a person: parked events, and those still open. */
export const listOpenEvents = query((db, p: { limit: number }) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'session_key', 'platform', 'chat_id', 'state', 'tries', 'reason', 'payload', 'accepted_at'])
    // By number, because with an `or` over both SQLite would read the whole table.
    .where('seq', 'in', (inbox) =>
      inbox
        .selectFrom('inbox')
        .select('seq')
        .where(open)
        .unionAll(inbox.selectFrom('inbox').select('seq').where(parked)),
    )
    .orderBy('seq')
    .limit(p.limit),
)

const release = query((db, p: { seq: number; now: number }) =>
  db
    .updateTable('inbox')
    .set({ state: 'queued', tries: 0, turn_id: null, reason: null, outcome: null, available_at: p.now })
    .where('seq', '=', p.seq)
    .where(parked)
    .returning(['session_key', 'lane']),
)

/** Puts a parked event back to its place in the queue; undefined when there is none of this number. */
export function* retryEvent(
  seq: number,
  now: number,
): UseCase<{ session_key: string; lane: 'turn' | 'control' } | undefined> {
  return yield* row(release, { seq, now })
}

const forget = query((db, p: { seq: number }) =>
  db.updateTable('inbox').set({ state: 'dropped' }).where('seq', '=', p.seq).where(parked).returning('seq'),
)

/** Forgets a parked event; false when there is none of this number. */
export function* dropEvent(seq: number): UseCase<boolean> {
  return (yield* row(forget, { seq })) !== undefined
}

const chatEventsFrom = (direction: 'asc' | 'desc') =>
  query((db, p: SpanParams) =>
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
const chatEvents = { oldest: chatEventsFrom('asc'), newest: chatEventsFrom('desc') }

/** What people wrote in a chat, beginning at the end the span names. */
export function* eventsOfChat(
  chat: ChatName,
  span: ChatSpan,
): UseCase<readonly { seq: number; payload: string; turn_id: string | null; accepted_at: number }[]> {
  return yield* rows(chatEvents[span.from], spanParams(chat, span))
}
