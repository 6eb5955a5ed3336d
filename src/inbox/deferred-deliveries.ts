/**
 * What adapters have received and work on later: events that are combined, and those that a script looks at first. They are on
 * disk before the sender is answered.
 */
import { exec, pick, query, row, rows, sql, type Transaction } from '../store/query.ts'

export interface DeferredDelivery {
  readonly key: string
  /** Deliveries of one group are worked on together. */
  readonly group: string
  /** ms since 1970 */
  readonly receivedAt: number
}

const selectKey = query((db, p: { key: string }) =>
  db.selectFrom('deferred_deliveries').select('key').where('key', '=', p.key),
)

const insert = query(
  (
    db,
    p: { key: string; platform: string; group_key: string; body: string; received_at: number; done_at: number | null },
  ) =>
    db
      .insertInto('deferred_deliveries')
      .values(pick(p, 'key', 'platform', 'group_key', 'body', 'received_at', 'done_at')),
)

const selectOpen = query((db, p: { platform: string }) =>
  db
    .selectFrom('deferred_deliveries')
    .select(['key', 'group_key', 'received_at'])
    .where('platform', '=', p.platform)
    .where(sql<boolean>`done_at is null`)
    .orderBy('received_at')
    .orderBy('key'),
)

const selectBody = query((db, p: { key: string }) =>
  db.selectFrom('deferred_deliveries').select('body').where('key', '=', p.key).where(sql<boolean>`done_at is null`),
)

const markDone = query((db, p: { key: string; now: number }) =>
  db.updateTable('deferred_deliveries').set({ done_at: p.now, body: '' }).where('key', '=', p.key),
)

const deleteOld = query((db, p: { before: number }) =>
  db.deleteFrom('deferred_deliveries').where(sql<boolean>`done_at is not null`).where('done_at', '<', p.before),
)

/** `keys`: the first is that of the delivery, the others are further names of it. */
export function* storeDeferred(
  platform: string,
  { keys: [key, ...others], group, body }: { keys: readonly [string, ...string[]]; group: string; body: string },
  now: number,
): Transaction<'accepted' | 'duplicate'> {
  for (const name of [key, ...others]) if ((yield* row(selectKey, { key: name })) !== undefined) return 'duplicate'
  const common = { platform, group_key: group, received_at: now }
  yield* exec(insert, { ...common, key, body, done_at: null })
  for (const other of others) yield* exec(insert, { ...common, key: other, body: '', done_at: now })
  return 'accepted'
}

/** The oldest first. */
export function* listDeferred(platform: string): Transaction<readonly DeferredDelivery[]> {
  const records = yield* rows(selectOpen, { platform })
  return records.map(({ key, group_key, received_at }) => ({ key, group: group_key, receivedAt: received_at }))
}

/** `undefined` when it is done. */
export function* readDeferred(key: string): Transaction<string | undefined> {
  return (yield* row(selectBody, { key }))?.body
}

export function* finishDeferred(keys: readonly string[], now: number): Transaction<void> {
  for (const key of keys) yield* exec(markDone, { key, now })
}

/** Removes what was done before a time. */
export function* pruneDeferred(before: number): Transaction<void> {
  yield* exec(deleteOld, { before })
}
