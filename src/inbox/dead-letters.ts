/**
 * Dead letters of the inbox: events whose processing failed too often, and what a user can do about them.
 */
import type { QueueKind } from '../message/ids.ts'
import { query, row, sql, type Transaction } from '../store/query.ts'
import { openCondition } from './queries.ts'

// Literal SQL, because SQLite uses a partial index only where a query repeats its condition word for word.
const deadCondition = sql<boolean>`state = 'dead'`

/** Events that are not finished: dead letters, and those that are queued or being processed. */
export const listUnfinishedEvents = query((db, p: { limit: number }) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'session_key', 'platform', 'chat_id', 'state', 'tries', 'reason', 'payload', 'accepted_at'])
    // Selected by number, because with an `or` of both conditions SQLite would scan the whole table.
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
    .set({
      state: 'queued',
      tries: 0,
      crashes: 0,
      own_crashes: 0,
      turn_id: null,
      reason: null,
      outcome: null,
      available_at: p.now,
    })
    .where('seq', '=', p.seq)
    .where(deadCondition)
    .returning(['session_key', 'lane']),
)

/** Puts a dead letter back to its position in the queue. `undefined` when no dead letter has this number. */
export function* retryDeadEvent(
  seq: number,
  now: number,
): Transaction<{ session_key: string; lane: QueueKind } | undefined> {
  return yield* row(requeue, { seq, now })
}

const markDropped = query((db, p: { seq: number }) =>
  db.updateTable('inbox').set({ state: 'dropped' }).where('seq', '=', p.seq).where(deadCondition).returning('seq'),
)

/** Gives a dead letter up for good. False when no dead letter has this number. */
export function* dropDeadEvent(seq: number): Transaction<boolean> {
  return (yield* row(markDropped, { seq })) !== undefined
}
