/**
 * The lock of a home: whoever runs turns holds it. The operating system frees it when the process dies, however it dies.
 */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { HermesError } from '../../lib/errors.ts'

export interface HomeLock {
  /** May be called twice. */
  release(): void
}

/** Takes the lock or throws `home/locked`. Never waits. */
export function lockHome(path: string): HomeLock {
  closeSync(openSync(path, 'a', 0o600))
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    // An open exclusive transaction on an otherwise empty database is a file lock that no crash can leave behind.
    db.exec('pragma journal_mode = delete')
    db.exec('begin exclusive')
  } catch (error) {
    db.close()
    throw new HermesError('home/locked', `(${path})`, { cause: error })
  }
  return {
    release() {
      if (db.isOpen) db.close()
    },
  }
}
