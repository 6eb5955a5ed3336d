/**
 * How far each account has read each chat or thread (`place`), so that messages of an outage can be fetched later.
 */
import type { ReadCursor } from '../message/accept-result.ts'
import { exec, pick, query, row, rows, type Transaction } from '../store/query.ts'

/** The account that the cursors belong to. */
export interface CursorOwner {
  readonly platform: string
  readonly account: string
}

const selectCursor = query((db, p: { platform: string; account: string; place: string }) =>
  db
    .selectFrom('marks')
    .select('last_id')
    .where(({ and }) => and(pick(p, 'platform', 'account', 'place'))),
)

const upsertCursor = query(
  (db, p: { platform: string; account: string; place: string; last_id: string; now: number }) =>
    db
      .insertInto('marks')
      .values({ platform: p.platform, account: p.account, place: p.place, last_id: p.last_id, updated_at: p.now })
      .onConflict((conflict) =>
        conflict.columns(['platform', 'account', 'place']).doUpdateSet({ last_id: p.last_id, updated_at: p.now }),
      ),
)

/** Moves a cursor forward, never back: a late message must not cause later ones to be fetched again. */
export function* advanceCursor(owner: CursorOwner, cursor: ReadCursor, now: number): Transaction<void> {
  yield* advance(owner, cursor, now, true)
}

/** Works like `advanceCursor`, but does not create a cursor. */
export function* advanceExistingCursor(owner: CursorOwner, cursor: ReadCursor, now: number): Transaction<void> {
  yield* advance(owner, cursor, now, false)
}

function* advance(
  { platform, account }: CursorOwner,
  { place, id }: ReadCursor,
  now: number,
  createsMissing: boolean,
): Transaction<void> {
  const known = yield* row(selectCursor, { platform, account, place })
  if (known === undefined ? !createsMissing : !isNewer(id, known.last_id)) return
  yield* exec(upsertCursor, { platform, account, place, last_id: id, now })
}

/** Ids are numbers in text form: the longer one is newer; of two ids of equal length, the one that sorts later. */
function isNewer(id: string, known: string): boolean {
  return id.length === known.length ? id > known : id.length > known.length
}

const selectCursors = query((db, p: { platform: string; account: string }) =>
  db
    .selectFrom('marks')
    .select(['place', 'last_id'])
    .where('platform', '=', p.platform)
    .where('account', '=', p.account),
)

/** The last id of each chat or thread, by `place`. */
export function* listCursors({ platform, account }: CursorOwner): Transaction<ReadonlyMap<string, string>> {
  const records = yield* rows(selectCursors, { platform, account })
  return new Map(records.map(({ place, last_id }) => [place, last_id]))
}

const deleteOldCursors = query((db, p: { before: number; limit: number }) =>
  db
    .deleteFrom('marks')
    .where(({ eb, refTuple }) =>
      eb(
        refTuple('platform', 'account', 'place'),
        'in',
        eb
          .selectFrom('marks as old')
          .select(['old.platform', 'old.account', 'old.place'])
          .where('old.updated_at', '<', p.before)
          .limit(p.limit)
          .$asTuple('platform', 'account', 'place'),
      ),
    )
    .returning('place'),
)

/**
 * Deletes the cursors of chats without messages since `before`; returns how many. Scans the whole table, which has one row
 * per chat.
 */
export function* pruneCursors(before: number, limit: number): Transaction<number> {
  return (yield* rows(deleteOldCursors, { before, limit })).length
}
