import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import { read, write } from '../kit/contracts/store.ts'
import { tempHome } from '../kit/temp-home.ts'

/** A database that was used and closed. */
async function usedDatabase(t: TestContext): Promise<string> {
  const path = join(tempHome(t), 'state.db')
  const store = createSqliteStore({ path })
  await store.run(() => write('kept', 'value'))
  await store.close()
  return path
}

async function valueIn(path: string): Promise<string | undefined> {
  const store = createSqliteStore({ path })
  try {
    return await store.run(() => read('kept'))
  } finally {
    await store.close()
  }
}

/** Changes a database without the store. */
function meddle(path: string, sql: string): void {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

function versionOf(path: string): unknown {
  const db = new DatabaseSync(path, { readOnly: true })
  const version = db.prepare('pragma user_version').get()?.['user_version']
  db.close()
  return version
}

function fingerprint(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

test('a new database gets the newest schema, and opening it again changes nothing', async (t) => {
  const path = await usedDatabase(t)
  assert.equal(versionOf(path), migrations.length)
  const before = fingerprint(path)
  assert.equal(await valueIn(path), 'value')
  assert.equal(fingerprint(path), before)
})

test('the migration to dead letters keeps every parked message of an older database', async (t) => {
  const path = join(tempHome(t), 'state.db')
  meddle(path, migrations.slice(0, 6).join(''))
  meddle(
    path,
    `insert into inbox (session_key, lane, kind, platform, account, chat_id, payload, state, available_at, accepted_at)
     values ('k', 'turn', 'text', 'web', 'main', 'chat', '{}', 'parked', 1, 1), ('k', 'turn', 'text', 'web', 'main', 'chat', '{}', 'done', 1, 1);
     pragma user_version = 6`,
  )
  const store = createSqliteStore({ path })
  await store.close()
  const db = new DatabaseSync(path, { readOnly: true })
  t.after(() => db.close())
  const states = db.prepare('select state from inbox order by seq').all()
  assert.deepEqual(
    states.map(({ state }) => state),
    ['dead', 'done'],
  )
  const indexes = db.prepare("select name from sqlite_schema where name in ('inbox_parked', 'inbox_dead')").all()
  assert.deepEqual(
    indexes.map(({ name }) => name),
    ['inbox_dead'],
  )
})

test('an existing database is copied before a migration', async (t) => {
  const path = join(tempHome(t), 'state.db')
  const backup = `${path}.bak`
  meddle(path, migrations.slice(0, 6).join(''))
  meddle(
    path,
    `insert into inbox (session_key, lane, kind, platform, account, chat_id, payload, state, available_at, accepted_at)
     values ('k', 'turn', 'text', 'web', 'main', 'chat', '{}', 'parked', 1, 1);
     pragma user_version = 6`,
  )
  writeFileSync(backup, 'the copy before an earlier migration', { mode: 0o644 })
  writeFileSync(`${backup}.tmp`, 'a copy that was interrupted')
  const reports: unknown[] = []
  const open = () => createSqliteStore({ path, onMigrated: (report) => reports.push(report) }).close()
  await open()
  assert.deepEqual(reports, [{ fromVersion: 6, toVersion: migrations.length, backup }])
  assert.equal(versionOf(backup), 6)
  assert.equal(statSync(backup).mode & 0o777, 0o600)
  assert.equal(existsSync(`${backup}.tmp`), false)
  const db = new DatabaseSync(backup, { readOnly: true })
  t.after(() => db.close())
  assert.equal(db.prepare('select state from inbox').get()?.['state'], 'parked')
  await open()
  assert.equal(reports.length, 1, 'a database of the newest schema is not copied')
})

test('a database that cannot be copied is not migrated', async (t) => {
  const path = join(tempHome(t), 'state.db')
  meddle(path, `${migrations.slice(0, 6).join('')}; pragma user_version = 6`)
  mkdirSync(`${path}.bak`)
  assert.throws(
    () => createSqliteStore({ path }),
    (error) => isHermesError(error, 'store/failed'),
  )
  assert.equal(versionOf(path), 6)
})

test('a new database is not copied', async (t) => {
  const path = await usedDatabase(t)
  assert.equal(existsSync(`${path}.bak`), false)
})

test('a failed migration leaves the file unchanged', (t) => {
  const path = join(tempHome(t), 'state.db')
  meddle(path, "create table trace (old text); insert into trace values ('kept')")
  assert.throws(
    () => createSqliteStore({ path }),
    (error) => isHermesError(error, 'store/failed'),
  )
  assert.equal(versionOf(path), 0)
  const db = new DatabaseSync(path, { readOnly: true })
  t.after(() => db.close())
  assert.equal(db.prepare('select old from trace').get()?.['old'], 'kept')
  assert.equal(db.prepare("select count(*) as count from sqlite_schema where name = 'inbox'").get()?.['count'], 0)
})

for (const journal of ['wal', 'delete']) {
  test(`a database of a newer version is rejected and unchanged (${journal} journal)`, async (t) => {
    const path = await usedDatabase(t)
    meddle(path, `pragma journal_mode = ${journal}; pragma user_version = ${migrations.length + 7}`)
    const before = fingerprint(path)
    assert.throws(
      () => createSqliteStore({ path }),
      (error) => isHermesError(error, 'store/newer-schema') && error.detail.includes(String(migrations.length + 7)),
    )
    assert.equal(fingerprint(path), before)
  })
}

test('a file that is not a database is rejected and kept', (t) => {
  const path = join(tempHome(t), 'state.db')
  writeFileSync(path, 'dear diary, '.repeat(1_000))
  const before = fingerprint(path)
  assert.throws(
    () => createSqliteStore({ path }),
    (error) => isHermesError(error, 'store/corrupt') && error.hint.includes('hermes doctor'),
  )
  assert.equal(fingerprint(path), before)
})

test('a truncated database is rejected and kept', async (t) => {
  const path = await usedDatabase(t)
  truncateSync(path, 8_192)
  const before = fingerprint(path)
  assert.throws(
    () => createSqliteStore({ path }),
    (error) => isHermesError(error, 'store/corrupt'),
  )
  assert.equal(fingerprint(path), before)
})

test('a path that cannot be a database is named in the error', (t) => {
  const home = tempHome(t)
  mkdirSync(join(home, 'folder'))
  for (const [path, code] of [
    [join(home, 'folder'), 'store/unavailable'],
    [join(home, 'missing', 'state.db'), 'store/failed'],
  ] as const) {
    assert.throws(
      () => createSqliteStore({ path }),
      (error) => isHermesError(error, code) && error.cause instanceof Error,
      path,
    )
  }
})

test('other users cannot read the database or its write-ahead files', async (t) => {
  const path = join(tempHome(t), 'state.db')
  const store = createSqliteStore({ path })
  t.after(() => store.close())
  await store.run(() => write('secret', 'value'))
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    assert.ok(existsSync(file), file)
    assert.equal(statSync(file).mode & 0o777, 0o600, file)
  }
})

test('a restored database that other users can read becomes private', async (t) => {
  const path = await usedDatabase(t)
  chmodSync(path, 0o644)
  const store = createSqliteStore({ path })
  t.after(() => store.close())
  await store.run(() => write('secret', 'value'))
  for (const file of [path, `${path}-wal`, `${path}-shm`]) assert.equal(statSync(file).mode & 0o777, 0o600, file)
})

test('every commit reaches the disk before its result, with a write-ahead log and full synchronisation', async (t) => {
  const path = await usedDatabase(t)
  const store = createSqliteStore({ path })
  t.after(() => store.close())
  await store.run(() => write('kept', 'newer'))
  // A copy of the two files, as after a power failure, contains the committed data.
  const copy = join(tempHome(t), 'copy.db')
  writeFileSync(copy, readFileSync(path))
  writeFileSync(`${copy}-wal`, readFileSync(`${path}-wal`))
  assert.equal(await valueIn(copy), 'newer')
})
