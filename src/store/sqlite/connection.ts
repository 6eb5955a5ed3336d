/**
 * Opens `state.db` the way this project needs it, and turns SQLite's errors into ours.
 * Node's own `node:sqlite` is used here and nowhere outside `store/`.
 */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { migrations } from '../migrations/index.ts'

/** Creates (0600) or opens the database for writing and brings it to the newest schema. Throws `store/…`. */
export function openDatabase(path: string): DatabaseSync {
  return translated(() => {
    // The write-ahead files copy the rights of the database, so these must be right before SQLite touches it.
    closeSync(openSync(path, 'a', 0o600))
    const db = new DatabaseSync(path, { timeout: 5_000 })
    try {
      db.exec('pragma journal_mode = wal')
      // A platform forgets a message once we acknowledge it: a commit must survive a power cut, not only a crash.
      db.exec('pragma synchronous = full')
      db.exec('pragma cache_size = -4096')
      migrate(db)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/** Opens an existing database for reading only; writers are not disturbed. Throws `store/…`. */
export function openReadOnly(path: string): DatabaseSync {
  return translated(() => {
    const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
    try {
      refuseNewer(schemaVersion(db))
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/** Runs `work` and rethrows SQLite's errors as `HermesError`; others pass. */
export function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storeError(error)
  }
}

/** SQLite's primary result codes that need different advice. */
const codes = { 5: 'store/locked', 11: 'store/corrupt', 13: 'store/full', 26: 'store/corrupt' } as const

export function storeError(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return error
  const primary = error.errcode & 0xff
  const code = primary === 5 || primary === 11 || primary === 13 || primary === 26 ? codes[primary] : 'store/failed'
  return new HermesError(code, messageOf(error), { cause: error })
}

function schemaVersion(db: DatabaseSync): number {
  const found = db.prepare('pragma user_version').get()?.['user_version']
  return typeof found === 'number' ? found : 0
}

function refuseNewer(version: number): void {
  if (version <= migrations.length) return
  throw new HermesError('store/newer-schema', `It has schema ${version}, this version knows ${migrations.length}.`)
}

/** All missing steps in one transaction: a crash in between leaves the old schema, whole. */
function migrate(db: DatabaseSync): void {
  if (schemaVersion(db) === migrations.length) return
  db.exec('begin immediate')
  try {
    const from = schemaVersion(db)
    refuseNewer(from)
    for (const step of migrations.slice(from)) db.exec(step)
    db.exec(`pragma user_version = ${migrations.length}`)
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}
