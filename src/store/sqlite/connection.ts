/**
 * Opens `state.db` and converts SQLite's errors. `node:sqlite` is used only in `store/`.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { ErrorCode } from '../../lib/error-catalogue.ts'
import { HermesError, isTransientError, messageOf, systemCode } from '../../lib/errors.ts'
import { migrations } from '../migrations/index.ts'
import { backUpDatabase } from './backup.ts'
import { rejectForeign } from './foreign-home.ts'

/** How long to wait for another program that writes to the database, ms. Blocks the event loop. */
const defaultBusyTimeoutMs = 1_000

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

/** Opens an existing database read-only, without blocking writers. Throws `store/...`. */
export function openReadOnly(path: string): DatabaseSync {
  return withStoreErrors(() => {
    const db = new DatabaseSync(path, { readOnly: true, timeout: defaultBusyTimeoutMs })
    try {
      const version = schemaVersion(db)
      rejectNewerSchema(version)
      if (version === 0) rejectForeign(db, path)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/**
 * Creates the file if it does not exist, and makes it private. Throws errors of the file system. An existing file is not
 * opened: closing it would release the locks that SQLite holds on it in this process.
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

/** Runs `work` and rethrows SQLite's errors as `HermesError`. Other errors are unchanged. */
export function withStoreErrors<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw toStoreError(error)
  }
}

/** SQLite's primary result codes with an error code of their own. */
const errorCodes: ReadonlyMap<number, ErrorCode> = new Map([
  [5, 'store/locked'],
  [11, 'store/corrupt'],
  [13, 'store/full'],
  [14, 'store/unavailable'],
  [26, 'store/corrupt'],
])

export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if ('syscall' in error) return new HermesError(fileErrorCode(error), messageOf(error), { cause: error })
  if (!('errcode' in error) || typeof error.errcode !== 'number') return error
  const code = errorCodes.get(error.errcode & 0xff) ?? 'store/failed'
  return new HermesError(code, messageOf(error), { cause: error })
}

function fileErrorCode(error: Error): 'store/full' | 'store/unavailable' | 'store/failed' {
  if (isTransientError(error)) return 'store/unavailable'
  return systemCode(error) === 'ENOSPC' || systemCode(error) === 'EDQUOT' ? 'store/full' : 'store/failed'
}

function schemaVersion(db: DatabaseSync): number {
  const version = db.prepare('pragma user_version').get()?.['user_version']
  return typeof version === 'number' ? version : 0
}

function rejectNewerSchema(version: number): void {
  if (version <= migrations.length) return
  throw new HermesError(
    'store/newer-schema',
    `Its schema version is ${version}; this version supports ${migrations.length}.`,
  )
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
