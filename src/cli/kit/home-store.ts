/**
 * Opens the database of the home for commands: for reading at any time, for changes only under the lock of the home.
 */
import { existsSync } from 'node:fs'
import type { HomeLayout } from '../../lib/home.ts'
import type { Transaction } from '../../store/query.ts'
import { lockHome } from '../../store/sqlite/lock.ts'
import { openReader, type StoreReader } from '../../store/sqlite/reader.ts'
import { explainLock } from './home-lock.ts'

/** Reads the database through a separate connection; returns `fallback` when it does not exist. Throws `store/…`. */
export function readHomeStore<Result>(
  home: HomeLayout,
  read: (reader: StoreReader) => Result,
  fallback: Result,
): Result {
  if (!existsSync(home.databaseFile)) return fallback
  const reader = openReader(home.databaseFile)
  try {
    return read(reader)
  } finally {
    reader.close()
  }
}

/**
 * Runs a transaction under the lock of the home; returns `fallback` when there is no database.
 * Throws `home/locked` when another process holds the lock, `store/…`, and what the transaction throws.
 */
export async function updateHomeStore<Result>(
  home: HomeLayout,
  transaction: () => Transaction<Result>,
  fallback: Result,
): Promise<Result> {
  if (!existsSync(home.databaseFile)) return fallback
  const lock = acquireHomeLock(home)
  try {
    return await updateLockedStore(home, transaction, fallback)
  } finally {
    lock.release()
  }
}

/** Works like `updateHomeStore`, for a caller that holds the lock. */
export async function updateLockedStore<Result>(
  home: HomeLayout,
  transaction: () => Transaction<Result>,
  fallback: Result,
): Promise<Result> {
  if (!existsSync(home.databaseFile)) return fallback
  const { createSqliteStore } = await import('../../store/sqlite/store.ts')
  const store = createSqliteStore({ path: home.databaseFile })
  try {
    return await store.run(transaction)
  } finally {
    await store.close()
  }
}

function acquireHomeLock(home: HomeLayout) {
  try {
    return lockHome(home.lockFile)
  } catch (error) {
    throw explainLock(error, home)
  }
}
