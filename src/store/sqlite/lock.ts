/**
 * The lock of a home: whoever runs turns holds it. The operating system frees it when the process dies, however it dies.
 */
import { DatabaseSync } from 'node:sqlite'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { ensurePrivateFile, toStoreError } from './connection.ts'

/** Keep it: a lock that nobody refers to any more is freed by the garbage collector. */
export interface HomeLock {
  /** May be called twice. */
  release(): void
}

/** Takes the lock. Never waits. Throws `home/locked` when another holds it, `home/unusable` when the file is no good. */
export function lockHome(path: string): HomeLock {
  try {
    ensurePrivateFile(path)
    const db = openExclusive(path)
    return {
      release() {
        if (db.isOpen) db.close()
      },
    }
  } catch (error) {
    const taken = isHermesError(toStoreError(error), 'store/locked')
    if (taken) throw new HermesError('home/locked', `(${path})`, { cause: error })
    throw new HermesError('home/unusable', `(${path}: ${messageOf(error)})`, { cause: error })
  }
}

function openExclusive(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    // An open exclusive transaction on an otherwise empty database is a file lock that no crash can leave behind.
    db.exec('pragma journal_mode = delete')
    db.exec('begin exclusive')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
