/**
 * Notes of what happened to a message beside its way, for the question "what became of it".
 */
import { exec, query, rows, type Transaction } from '../store/query.ts'

/** What a note is about. */
export interface TraceSubject {
  readonly session_key: string
  readonly turn_id: string | null
}

const insertEntry = query(
  (db, p: { session_key: string; turn_id: string | null; event: string; detail: string; now: number }) =>
    db.insertInto('trace').values({
      session_key: p.session_key,
      turn_id: p.turn_id,
      event: p.event,
      detail: p.detail,
      at: p.now,
    }),
)

/** `detail`: a sentence for people; it may quote what they wrote, and is cut. */
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
        // Notes are numbered as they come, so that the oldest are enough to look at.
        .selectFrom((oldest) =>
          oldest.selectFrom('trace').select(['id', 'at']).orderBy('id').limit(p.limit).as('oldest'),
        )
        .select('oldest.id')
        .where('oldest.at', '<', p.before),
    )
    .returning('id'),
)

/** Forgets notes older than `before`; returns how many went. */
export function* pruneTrace(before: number, limit: number): Transaction<number> {
  return (yield* rows(deleteOldEntries, { before, limit })).length
}
