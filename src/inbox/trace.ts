/**
 * The trace of a message: events in its processing that no other table records, such as an edit.
 */
import { exec, pick, query, rows, type Transaction } from '../store/query.ts'

/** The subject of an entry. */
export interface TraceSubject {
  readonly session_key: string
  readonly turn_id: string | null
}

const insertEntry = query(
  (db, p: { session_key: string; turn_id: string | null; event: string; detail: string; now: number }) =>
    db.insertInto('trace').values({
      ...pick(p, 'session_key', 'turn_id', 'event', 'detail'),
      at: p.now,
    }),
)

/** @param detail a sentence for users, which may quote the message; it is truncated. */
export function* addTraceEntry(
  { session_key, turn_id }: TraceSubject,
  event: string,
  detail: string,
  now: number,
): Transaction<void> {
  yield* exec(insertEntry, { session_key, turn_id, event, detail: detail.slice(0, 1_000).toWellFormed(), now })
}

const deleteOldEntries = query((db, p: { before: number; limit: number }) =>
  db
    .deleteFrom('trace')
    .where('id', 'in', (old) =>
      old
        // Entries are numbered in the order of time, so only the oldest need to be examined.
        .selectFrom((oldest) =>
          oldest.selectFrom('trace').select(['id', 'at']).orderBy('id').limit(p.limit).as('oldest'),
        )
        .select('oldest.id')
        .where('oldest.at', '<', p.before),
    )
    .returning('id'),
)

/** Deletes entries older than `before`, at most `limit`; returns how many. */
export function* pruneTrace(before: number, limit: number): Transaction<number> {
  return (yield* rows(deleteOldEntries, { before, limit })).length
}

/** The subject of entries about people without access, who have no session. */
const refusedSubject: TraceSubject = { session_key: 'refused', turn_id: null }

/** A message that was refused. @param detail as for `addTraceEntry` */
export function* addRefusal(detail: string, now: number): Transaction<void> {
  yield* addTraceEntry(refusedSubject, 'access:refused', detail, now)
}

/** A request for access that an owner refused. @param detail as for `addTraceEntry` */
export function* addDenial(detail: string, now: number): Transaction<void> {
  yield* addTraceEntry(refusedSubject, 'access:denied', detail, now)
}

/** People without access who wrote since a time, the newest first. */
export const listRefusals = query((db, p: { since: number; limit: number }) =>
  db
    .selectFrom('trace')
    .select(['at', 'detail'])
    .where('session_key', '=', 'refused')
    .where('at', '>=', p.since)
    .orderBy('id', 'desc')
    .limit(p.limit),
)
