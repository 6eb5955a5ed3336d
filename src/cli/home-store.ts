/**
 * The database of the home for commands: read at any time, changed only while nobody runs turns on it.
 */
import { existsSync } from 'node:fs'
import type { HomeLayout } from '../lib/home.ts'
import type { UseCase } from '../store/query.ts'
import { lockHome } from '../store/sqlite/lock.ts'
import { openReader, type Reader } from '../store/sqlite/reader.ts'
import { createSqliteStore } from '../store/sqlite/store.ts'
import { explainedLock } from './home-lock.ts'

/** Looks into the database on a connection of its own; `absent` where there is none yet. Throws `store/…`. */
export function readHome<Result>(home: HomeLayout, look: (reader: Reader) => Result, absent: Result): Result {
  if (!existsSync(home.databaseFile)) return absent
  const reader = openReader(home.databaseFile)
  try {
    return look(reader)
  } finally {
    reader.close()
  }
}

/**
 * Runs a use case under the lock of the home; `absent` where there is no database yet.
 * Throws `home/locked` when somebody else holds it, `store/…`, and what the use case throws.
 */
export async function changeHome<Result>(
  home: HomeLayout,
  useCase: () => UseCase<Result>,
  absent: Result,
): Promise<Result> {
  if (!existsSync(home.databaseFile)) return absent
  const lock = lockedBy(home)
  try {
    const store = createSqliteStore({ path: home.databaseFile })
    try {
      return await store.run(useCase)
    } finally {
      await store.close()
    }
  } finally {
    lock.release()
  }
}

function lockedBy(home: HomeLayout) {
  try {
    return lockHome(home.lockFile)
  } catch (error) {
    throw explainedLock(error, home)
  }
}
