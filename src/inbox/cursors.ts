/**
 * How far each account has read each place, so that what came while nobody listened can be fetched.
 */
import type { ReadCursor } from '../message/accept-result.ts'
import { exec, query, row, rows, type Transaction } from '../store/query.ts'

/** Whose marks they are. */
export interface CursorOwner {
  readonly platform: string
  readonly account: string
}

const selectCursor = query((db, p: { platform: string; account: string; place: string }) =>
  db
    .selectFrom('marks')
    .select('last_id')
    .where('platform', '=', p.platform)
    .where('account', '=', p.account)
    .where('place', '=', p.place),
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

/** Moves a mark on, never back: what arrives late must not bring back what came after it. */
export function* advanceCursor(owner: CursorOwner, mark: ReadCursor, now: number): Transaction<void> {
  yield* advance(owner, mark, now, true)
}

/** Moves a mark that is there already, and begins none. */
export function* advanceExistingCursor(owner: CursorOwner, mark: ReadCursor, now: number): Transaction<void> {
  yield* advance(owner, mark, now, false)
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

/** Ids are numbers written as text: the longer one is the newer, of two as long the one that sorts later. */
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

/** By place. */
export function* listCursors({ platform, account }: CursorOwner): Transaction<ReadonlyMap<string, string>> {
  const found = yield* rows(selectCursors, { platform, account })
  return new Map(found.map(({ place, last_id }) => [place, last_id]))
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
 * Forgets the marks of places in which nothing was written since `before`; returns how many went. Reads the whole table,
 * which has one row for each chat.
 */
export function* pruneCursors(before: number, limit: number): Transaction<number> {
  return (yield* rows(deleteOldCursors, { before, limit })).length
}
