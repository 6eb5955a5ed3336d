/**
 * Opens `state.db` for writing, and brings it to the newest schema.
 */
import { DatabaseSync } from 'node:sqlite'
import { migrations } from '../migrations/index.ts'
import { backUpDatabase } from './backup.ts'
import {
  defaultBusyTimeoutMs,
  ensurePrivateFile,
  rejectNewerSchema,
  schemaVersion,
  withStoreErrors,
} from './connection.ts'
import { rejectForeign } from './foreign-home.ts'

/** An existing database that was brought to the newest schema. */
export interface MigrationReport {
  readonly fromVersion: number
  readonly toVersion: number
  /** The copy of the database before the migration. */
  readonly backup: string
}

export interface OpenOptions {
  readonly busyTimeoutMs?: number | undefined
  readonly onMigrated?: ((report: MigrationReport) => void) | undefined
}

/**
 * Creates (0600) or opens the database for writing and brings it to the newest schema. An existing database is copied before
 * that. Throws `store/...`.
 */
export function openDatabase(
  path: string,
  { busyTimeoutMs = defaultBusyTimeoutMs, onMigrated }: OpenOptions = {},
): DatabaseSync {
  return withStoreErrors(() => {
    // The write-ahead files inherit the permissions of the database, so these are set before SQLite opens it.
    ensurePrivateFile(path)
    const db = new DatabaseSync(path, { timeout: busyTimeoutMs })
    try {
      // First, because a file of a newer version must stay unchanged.
      const version = schemaVersion(db)
      rejectNewerSchema(version)
      if (version === 0) rejectForeign(db, path)
      db.exec('pragma journal_mode = wal')
      // A platform deletes a message after the acknowledgement, so a commit must survive a power failure.
      db.exec('pragma synchronous = full')
      db.exec('pragma cache_size = -4096')
      const report = migrate(db, path)
      // A savepoint keeps what it may have to restore. Beyond 64 kB that would be a file of the temporary directory, with texts on it.
      // A migration may be larger than the memory, so that it comes before.
      db.exec('pragma temp_store = memory')
      if (report !== undefined) onMigrated?.(report)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/**
 * Runs all missing migrations in one transaction, so that a crash leaves the old schema intact. Returns `undefined` for a
 * new database and for one that has the newest schema.
 */
function migrate(db: DatabaseSync, path: string): MigrationReport | undefined {
  const fromVersion = schemaVersion(db)
  if (fromVersion === migrations.length) return undefined
  const backup = fromVersion === 0 ? undefined : backUpDatabase(db, path)
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
  return backup === undefined ? undefined : { fromVersion, toVersion: migrations.length, backup }
}
