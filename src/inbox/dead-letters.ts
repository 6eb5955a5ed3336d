/**
 * Dead letters of the inbox: events whose processing failed too often, and what a user can do about them.
 */
import type { QueueKind } from '../message/ids.ts'
import { exec, query, row, rows, sql, type Transaction } from '../store/query.ts'
import { findEventPayload, openCondition } from './queries.ts'
import { parseStoredEvent, serializeEvent } from './stored-event.ts'

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

/** The newest first, those before a number. The condition is that of a partial index. */
const pageOf = (condition: typeof deadCondition) =>
  query((db, p: { before: number; limit: number }) =>
    db
      .selectFrom('inbox')
      .select(['seq', 'session_key', 'platform', 'chat_id', 'state', 'tries', 'reason', 'payload', 'accepted_at'])
      .where('seq', 'in', (inbox) => inbox.selectFrom('inbox').select('seq').where(condition))
      .where('seq', '<', p.before)
      .orderBy('seq', 'desc')
      .limit(p.limit),
  )

export const pageOfDeadEvents = pageOf(deadCondition)
export const pageOfOpenEvents = pageOf(openCondition)

const countDead = query((db) => db.selectFrom('inbox').select(sql<number>`count(*)`.as('dead')).where(deadCondition))

export function* countDeadEvents(): Transaction<number> {
  return (yield* row(countDead, {}))?.dead ?? 0
}

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

const selectSteered = query((db, p: { seq: number }) =>
  db
    .selectFrom('turn_inputs')
    .innerJoin('inbox', 'inbox.seq', 'turn_inputs.seq')
    .select('inbox.payload')
    .where('turn_inputs.turn_id', '=', (dead) =>
      dead.selectFrom('inbox').select('turn_id').where('seq', '=', p.seq).where(deadCondition),
    )
    .where('turn_inputs.how', '=', 'steered')
    .orderBy('turn_inputs.seq'),
)

const updatePayload = query((db, p: { seq: number; payload: string }) =>
  db.updateTable('inbox').set({ payload: p.payload }).where('seq', '=', p.seq),
)

/**
 * Puts a dead letter back to its position in the queue, with the texts that were steered into its turn. `undefined` when no
 * dead letter has this number.
 */
export function* retryDeadEvent(
  seq: number,
  now: number,
): Transaction<{ session_key: string; lane: QueueKind } | undefined> {
  const steered = yield* rows(selectSteered, { seq })
  const head = steered.length === 0 ? undefined : yield* findEventPayload(seq)
  if (head !== undefined) {
    const event = parseStoredEvent(head)
    const texts = [event, ...steered.map(({ payload }) => parseStoredEvent(payload))].map(({ text }) => text)
    // A line that begins with a slash is no command.
    const merged = { ...event, text: texts.join('\n'), allowGatewayControl: false }
    yield* exec(updatePayload, { seq, payload: serializeEvent(merged) })
  }
  return yield* row(requeue, { seq, now })
}

const markDropped = query((db, p: { seq: number }) =>
  db.updateTable('inbox').set({ state: 'dropped' }).where('seq', '=', p.seq).where(deadCondition).returning('seq'),
)

/** Gives a dead letter up for good. False when no dead letter has this number. */
export function* dropDeadEvent(seq: number): Transaction<boolean> {
  return (yield* row(markDropped, { seq })) !== undefined
}
