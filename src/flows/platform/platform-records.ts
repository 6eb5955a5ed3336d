/**
 * The records of adapters: JSON values by key. Loaded with the first record.
 */
import type { PlatformRecords } from '../../platforms/context.ts'
import { exec, pick, query, row, rows, type Transaction } from '../../store/query.ts'
import type { Store } from '../../store/store.ts'

interface Owner {
  readonly platform: string
  readonly account: string
}

type RecordKey = Readonly<Record<'platform' | 'account' | 'key', string>>

const select = query((db, p: RecordKey) =>
  db
    .selectFrom('platform_records')
    .select('value')
    .where(({ and }) => and(pick(p, 'platform', 'account', 'key'))),
)

const upsert = query((db, p: RecordKey & { value: string; now: number }) =>
  db
    .insertInto('platform_records')
    .values({ platform: p.platform, account: p.account, key: p.key, value: p.value, updated_at: p.now })
    .onConflict((conflict) =>
      conflict.columns(['platform', 'account', 'key']).doUpdateSet({ value: p.value, updated_at: p.now }),
    ),
)

const remove = query((db, p: RecordKey) =>
  db.deleteFrom('platform_records').where(({ and }) => and(pick(p, 'platform', 'account', 'key'))),
)

const selectBelow = query((db, p: Omit<RecordKey, 'key'> & { from: string; below: string; limit: number }) =>
  db
    .selectFrom('platform_records')
    .select(['key', 'value'])
    .where('platform', '=', p.platform)
    .where('account', '=', p.account)
    .where('key', '>=', p.from)
    .where('key', '<', p.below)
    .orderBy('key', 'desc')
    .limit(p.limit),
)

const removeOld = query((db, p: { before: number; limit: number }) =>
  db
    .deleteFrom('platform_records')
    .where('id', 'in', (inner) =>
      inner.selectFrom('platform_records').select('id').where('updated_at', '<', p.before).limit(p.limit),
    )
    .returning('id'),
)

export function createPlatformRecords({
  store,
  clock,
  owner,
}: {
  readonly store: Store
  readonly clock: () => number
  readonly owner: Owner
}): PlatformRecords {
  const keyOf = (key: string): RecordKey => ({ ...owner, key })

  function* read(key: string): Transaction<unknown> {
    const stored = yield* row(select, keyOf(key))
    return stored === undefined ? undefined : JSON.parse(stored.value)
  }

  function* write(key: string, value: string, now: number): Transaction<void> {
    yield* exec(upsert, { ...keyOf(key), value, now })
  }

  function* insert(key: string, value: string, now: number): Transaction<unknown> {
    const stored = yield* row(select, keyOf(key))
    if (stored === undefined) yield* write(key, value, now)
    return JSON.parse(stored?.value ?? value)
  }

  return {
    get: (key) => store.run(() => read(key)),
    put: (key, value) => store.run(() => write(key, JSON.stringify(value), clock())),
    insert: (key, value) => store.run(() => insert(key, JSON.stringify(value), clock())),
    remove: (key) => store.run(() => exec(remove, keyOf(key))),
    async list({ prefix, before = `${prefix}\u{10ffff}`, limit }) {
      const records = await store.run(() => rows(selectBelow, { ...owner, from: prefix, below: before, limit }))
      return records.map(({ key, value }): { key: string; value: unknown } => ({ key, value: JSON.parse(value) }))
    },
  }
}

/** Returns the number of deleted rows. */
export function* pruneRecords(before: number, limit: number): Transaction<number> {
  return (yield* rows(removeOld, { before, limit })).length
}
