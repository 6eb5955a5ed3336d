/**
 * The database of the home for commands: read at any time, changed only while nobody runs turns on it.
 */
import { existsSync } from 'node:fs'
import type { HomeLayout } from '../lib/home.ts'
import type { Transaction } from '../store/query.ts'
import { lockHome } from '../store/sqlite/lock.ts'
import { openReader, type StoreReader } from '../store/sqlite/reader.ts'
import { createSqliteStore } from '../store/sqlite/store.ts'
import { explainLock } from './home-lock.ts'

/** Looks into the database on a connection of its own; `absent` where there is none yet. Throws `store/…`. */
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
 * Runs a use case under the lock of the home; `absent` where there is no database yet.
 * Throws `home/locked` when somebody else holds it, `store/…`, and what the use case throws.
 */
export async function updateHomeStore<Result>(
  home: HomeLayout,
  transaction: () => Transaction<Result>,
  fallback: Result,
): Promise<Result> {
  if (!existsSync(home.databaseFile)) return fallback
  const lock = acquireHomeLock(home)
  try {
    const store = createSqliteStore({ path: home.databaseFile })
    try {
      return await store.run(transaction)
    } finally {
      await store.close()
    }
  } finally {
    lock.release()
  }
}

function acquireHomeLock(home: HomeLayout) {
  try {
    return lockHome(home.lockFile)
  } catch (error) {
    throw explainLock(error, home)
  }
}
