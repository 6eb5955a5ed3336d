/**
 * Locks among all processes of this machine. The operating system releases a lock when its process exits for any reason.
 */
import { DatabaseSync } from 'node:sqlite'
import { isHermesError } from '../../lib/errors.ts'
import { sleep } from '../../lib/timers.ts'
import { ensurePrivateFile, toStoreError } from './connection.ts'

/** Opens the database with an exclusive transaction, without waiting. Throws SQLite's errors. */
export function openExclusive(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    // An open exclusive transaction on an empty database is a file lock that does not survive the process.
    db.exec('pragma journal_mode = delete')
    db.exec('begin exclusive')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

const maxWaitMs = 10_000
const retryMs = 20

/**
 * Runs `work` while this process holds the lock. The file of the lock stays empty, and is created with mode 0600 in a directory
 * that exists. Waiting calls have no order. Rejects `store/locked` after 10 seconds,
 * another `store/...` error when the file cannot be used, the signal's reason, and what `work` rejects.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const lock = await waitForLock(path, signal)
  try {
    return await work()
  } finally {
    lock.close()
  }
}

async function waitForLock(path: string, signal: AbortSignal | undefined): Promise<DatabaseSync> {
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    signal?.throwIfAborted()
    try {
      ensurePrivateFile(path)
      return openExclusive(path)
    } catch (error) {
      const failure = toStoreError(error)
      if (!isHermesError(failure, 'store/locked') || waitedMs >= maxWaitMs) throw failure
    }
    await sleep(retryMs, signal)
  }
}
