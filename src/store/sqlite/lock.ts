/**
 * The lock of a home directory, held by the process that runs turns. The operating system releases it when the process exits
 * for any reason.
 */
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { ensurePrivateFile, toStoreError } from './connection.ts'
import { openExclusive } from './file-lock.ts'
import { recoverRestore } from './restore.ts'

/** Keep a reference to it: the garbage collector releases an unreachable lock. */
export interface HomeLock {
  /** May be called twice. */
  release(): void
}

/** Acquires the lock without waiting, and ends a restore that was interrupted. Throws `home/locked` if another process holds it, `home/unusable` for a bad file. */
export function lockHome(path: string): HomeLock {
  try {
    ensurePrivateFile(path)
    const db = openExclusive(path)
    try {
      recoverRestore(path)
    } catch (error) {
      db.close()
      throw error
    }
    return {
      release() {
        if (db.isOpen) db.close()
      },
    }
  } catch (error) {
    const isLocked = isHermesError(toStoreError(error), 'store/locked')
    if (isLocked) throw new HermesError('home/locked', `(${path})`, { cause: error })
    throw new HermesError('home/unusable', `(${path}: ${messageOf(error)})`, { cause: error })
  }
}
