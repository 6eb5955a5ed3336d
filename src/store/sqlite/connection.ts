/**
 * Opens `state.db` the way this project needs it, and turns SQLite's errors into ours.
 * Node's own `node:sqlite` is used here and nowhere outside `store/`.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { HermesError, messageOf, systemCode } from '../../lib/errors.ts'
import { migrations } from '../migrations/index.ts'

/** How long to wait for another program that writes to the database, ms. The process stands still meanwhile. */
const defaultBusyTimeoutMs = 1_000

/** Creates (0600) or opens the database for writing and brings it to the newest schema. Throws `store/…`. */
export function openDatabase(path: string, busyTimeoutMs = defaultBusyTimeoutMs): DatabaseSync {
  return withStoreErrors(() => {
    // The write-ahead files copy the rights of the database, so these must be right before SQLite touches it.
    ensurePrivateFile(path)
    const db = new DatabaseSync(path, { timeout: busyTimeoutMs })
    try {
      // Before anything else, because a file that is not for us must stay as it is.
      rejectNewerSchema(schemaVersion(db))
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
  return withStoreErrors(() => {
    const db = new DatabaseSync(path, { readOnly: true, timeout: defaultBusyTimeoutMs })
    try {
      rejectNewerSchema(schemaVersion(db))
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/**
 * Makes the file where there is none, and closes it to others. Throws errors of the file system.
 * An existing file is not opened: closing it again would drop the locks that SQLite holds on it in this process.
 */
export function ensurePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
    const { mode, uid } = statSync(path)
    if ((mode & 0o077) !== 0 && uid === process.getuid?.()) chmodSync(path, 0o600)
  }
}

/** Runs `work` and rethrows SQLite's errors as `HermesError`; others pass. */
export function withStoreErrors<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw toStoreError(error)
  }
}

/** SQLite's primary result codes that need different advice. */
const errorCodes = { 5: 'store/locked', 11: 'store/corrupt', 13: 'store/full', 26: 'store/corrupt' } as const

export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if ('syscall' in error) return new HermesError(fileErrorCode(error), messageOf(error), { cause: error })
  if (!('errcode' in error) || typeof error.errcode !== 'number') return error
  const primary = error.errcode & 0xff
  const code =
    primary === 5 || primary === 11 || primary === 13 || primary === 26 ? errorCodes[primary] : 'store/failed'
  return new HermesError(code, messageOf(error), { cause: error })
}

function fileErrorCode(error: Error): 'store/full' | 'store/failed' {
  return systemCode(error) === 'ENOSPC' || systemCode(error) === 'EDQUOT' ? 'store/full' : 'store/failed'
}

function schemaVersion(db: DatabaseSync): number {
  const found = db.prepare('pragma user_version').get()?.['user_version']
  return typeof found === 'number' ? found : 0
}

function rejectNewerSchema(version: number): void {
  if (version <= migrations.length) return
  throw new HermesError('store/newer-schema', `It has schema ${version}, this version knows ${migrations.length}.`)
}

/** All missing steps in one transaction: a crash in between leaves the old schema, whole. */
function migrate(db: DatabaseSync): void {
  if (schemaVersion(db) === migrations.length) return
  db.exec('begin immediate')
  try {
    const from = schemaVersion(db)
    rejectNewerSchema(from)
    for (const step of migrations.slice(from)) db.exec(step)
    db.exec(`pragma user_version = ${migrations.length}`)
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}
