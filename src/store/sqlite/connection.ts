/**
 * Opens `state.db` for reading and converts SQLite's errors. `node:sqlite` is used only in `store/`.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { ErrorCode } from '../../lib/error-catalogue.ts'
import { HermesError, isTransientError, messageOf, systemCode } from '../../lib/errors.ts'
import { newestVersion } from '../migrations/newest-version.ts'
import { rejectForeign } from './foreign-home.ts'

/** How long to wait for another program that writes to the database, ms. Blocks the event loop. */
export const defaultBusyTimeoutMs = 1_000

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

export function schemaVersion(db: DatabaseSync): number {
  const version = db.prepare('pragma user_version').get()?.['user_version']
  return typeof version === 'number' ? version : 0
}

export function rejectNewerSchema(version: number): void {
  if (version <= newestVersion) return
  throw new HermesError(
    'store/newer-schema',
    `Its schema version is ${version}; this version supports ${newestVersion}.`,
  )
}
