import assert from 'node:assert/strict'
import { closeSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import type { Query } from '../../src/store/query.ts'
import { exec, row } from '../../src/store/query.ts'
import { openReader } from '../../src/store/sqlite/reader.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { read, write } from '../kit/contracts/store.ts'
import { openStore } from '../kit/open-store.ts'
import { tempHome } from '../kit/temp-home.ts'

/** A raw SQL statement, for features that the query builder does not have. */
function plain<Row = unknown>(sql: string): Query<Record<never, never>, Row> {
  return { build: () => ({ sql, parameters: [] }) }
}

/** Limits the database to `pages` more pages. SQLite reports the same error as for a full disk. */
async function leaveRoomFor(store: Store, pages: number): Promise<void> {
  const used = await store.run(() => row(plain<{ page_count: number }>('pragma page_count'), {}))
  await store.run(() => exec(plain(`pragma max_page_count = ${(used?.page_count ?? 0) + pages}`), {}))
}

function another(t: TestContext, path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 0 })
  t.after(() => db.close())
  return db
}

const big = 'x'.repeat(200_000)

test('on a full disk a write fails with its own code, and committed data is kept', async (t) => {
  const { store, path } = openStore(t)
  await store.run(() => write('before', 'kept'))
  await leaveRoomFor(store, 4)
  await assert.rejects(
    store.run(function* () {
      yield* write('before', 'overwritten')
      yield* write('big', big)
    }),
    (error) => isHermesError(error, 'store/full') && error.hint.includes('space'),
  )
  assert.equal(await store.run(() => read('before')), 'kept')
  assert.equal(await store.run(() => read('big')), undefined)

  await leaveRoomFor(store, 10_000)
  await store.run(() => write('big', big))
  await store.close()
  const reader = openReader(path)
  t.after(() => reader.close())
  assert.deepEqual(reader.checkIntegrity(), [])
})

test('on a full disk every transaction of a batch learns whether it was committed', async (t) => {
  const { store, path } = openStore(t)
  await leaveRoomFor(store, 4)
  const names = Array.from({ length: 6 }, (_, index) => `group ${index}`)
  const results = await Promise.allSettled(
    names.map((name, index) => store.run(() => write(name, index === 3 ? big : 'small'))),
  )
  const other = createSqliteStore({ path })
  t.after(() => other.close())
  for (const [index, name] of names.entries()) {
    const kept = (await other.run(() => read(name))) !== undefined
    assert.equal(results[index]?.status === 'fulfilled', kept, name)
  }
  assert.ok(results.some((result) => result.status === 'rejected' && isHermesError(result.reason, 'store/full')))
})

test('a database that another program holds is reported as locked, and works again when it is released', async (t) => {
  const path = join(tempHome(t), 'state.db')
  const store = createSqliteStore({ path, busyTimeoutMs: 0 })
  t.after(() => store.close())
  await store.run(() => write('before', 'kept'))
  const other = another(t, path)
  other.exec('begin immediate')
  const both = await Promise.allSettled([
    store.run(() => write('a', 'late')),
    store.run(() => write('before', 'changed')),
  ])
  for (const result of both) {
    assert.ok(result.status === 'rejected' && isHermesError(result.reason, 'store/locked'))
  }
  other.exec('rollback')
  assert.equal(await store.run(() => read('a')), undefined)
  assert.equal(await store.run(() => read('before')), 'kept')
  await store.run(() => write('a', 'now'))
  assert.equal(await store.run(() => read('a')), 'now')
})

test('a database that is locked at the start is reported as locked, with a hint', async (t) => {
  const path = join(tempHome(t), 'state.db')
  await createSqliteStore({ path }).close()
  const other = another(t, path)
  other.exec('pragma locking_mode = exclusive; begin exclusive')
  assert.throws(
    () => createSqliteStore({ path, busyTimeoutMs: 0 }),
    (error) => isHermesError(error, 'store/locked') && error.hint.includes('Close the program'),
  )
  other.exec('rollback')
})

test('damage inside the file is reported when it is read; other data stays usable', async (t) => {
  const path = join(tempHome(t), 'state.db')
  const first = createSqliteStore({ path })
  await first.run(() => write('kept', 'value'))
  const root = await first.run(() =>
    row(plain<{ rootpage: number }>("select rootpage from sqlite_schema where name = 'marks'"), {}),
  )
  await first.close()
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(4_096, 0x5a), 0, 4_096, ((root?.rootpage ?? 1) - 1) * 4_096)
  closeSync(file)

  const store = createSqliteStore({ path })
  t.after(() => store.close())
  await assert.rejects(
    store.run(() => read('kept')),
    (error) => isHermesError(error, 'store/corrupt'),
  )
  assert.equal((await store.run(() => row(plain<{ one: number }>('select 1 as one'), {})))?.one, 1)
  const reader = openReader(path)
  t.after(() => reader.close())
  assert.ok(reader.checkIntegrity().length > 0)
})

test('the duration of each commit is reported, so that a slow disk is noticed', async (t) => {
  const path = join(tempHome(t), 'state.db')
  const durations: number[] = []
  const store = createSqliteStore({ path, onSlowCommit: (ms) => durations.push(ms) })
  t.after(() => store.close())
  await Promise.all(Array.from({ length: 10 }, (_, index) => store.run(() => write(`group ${index}`, 'x'))))
  assert.equal(durations.length, 1, 'ten use cases of one moment share one commit')
  await store.run(() => write('one more', 'x'))
  assert.equal(durations.length, 2)
  assert.ok(durations.every((ms) => ms >= 0))
})

test('nothing is written to a database that was removed or replaced, because a restart would lose it', async (t) => {
  const { store, path } = openStore(t)
  await store.run(() => write('before', 'kept'))
  renameSync(path, `${path}.old`)
  await assert.rejects(
    store.run(() => write('removed', 'lost')),
    (error) => isHermesError(error, 'store/replaced'),
  )
  writeFileSync(path, '')
  await assert.rejects(
    store.run(() => write('replaced', 'lost')),
    (error) => isHermesError(error, 'store/replaced') && error.hint.includes('Restart'),
  )
  rmSync(path)
  renameSync(`${path}.old`, path)
  await store.run(() => write('back', 'kept'))
  assert.equal(await store.run(() => read('before')), 'kept')
  assert.equal(await store.run(() => read('removed')), undefined)
})

test('a process that lost the lock of the home writes nothing, because another daemon may hold it', async (t) => {
  const path = join(tempHome(t), 'state.db')
  const lock = `${path}.lock`
  writeFileSync(lock, '')
  const store = createSqliteStore({ path, guardFiles: [lock] })
  t.after(() => store.close())
  await store.run(() => write('before', 'kept'))
  rmSync(lock)
  await assert.rejects(
    store.run(() => write('after', 'lost')),
    (error) => isHermesError(error, 'store/replaced') && error.message.includes(lock),
  )
})
