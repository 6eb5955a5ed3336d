/**
 * `auth.json` between processes: read again when it has changed, and changed by one process at a time.
 */
import { statSync } from 'node:fs'
import { HermesError, messageOf, systemCode } from '../../../lib/errors.ts'
import type { Logger } from '../../../lib/log.ts'
import { withFileLock } from '../../../store/sqlite/file-lock.ts'
import { type AuthFile, makePrivate, readAuthFile, unusable, writeAuthFile } from './auth-file.ts'

export interface SharedAuthFile {
  /** The content of the file: the same object until the file changes. Throws `auth/unusable`. */
  read(): AuthFile
  /**
   * Changes the file under the lock that other processes use, too. Several changes are made in the order in which they were
   * requested. Rejects `auth/unusable`.
   *
   * @param change receives the content of that moment
   */
  update(change: (file: AuthFile) => AuthFile): Promise<void>
}

/** @param withLock runs while no other process changes the file; rejects when the lock cannot be had, and with what `run` throws */
export function createSharedAuthFile(
  path: string,
  log: Logger,
  withLock = (run: () => void): Promise<void> => withFileLock(`${path}.lock`, async () => run()),
): SharedAuthFile {
  let current: { readonly version: string; readonly content: AuthFile | HermesError } | undefined
  let last: Promise<unknown> = Promise.resolve()

  /** The same error until the file changes. */
  function read(): AuthFile {
    if (current?.version !== versionOf(path)) {
      correctMode(path, log)
      // Before the content: another process may replace the file meanwhile, and the next call must notice that.
      const version = versionOf(path)
      const content = tryRead(path)
      // A system without free file descriptors or memory may have some again with the next call.
      current = { version: isTransient(content) ? '?' : version, content }
    }
    if (current.content instanceof HermesError) throw current.content
    return current.content
  }

  return {
    read,
    async update(change) {
      const run = () =>
        withLock(() => {
          const file = read()
          const changed = change(file)
          if (changed !== file) writeAuthFile(path, changed)
        })
      const result = last.then(run, run)
      last = result
      await result
    },
  }
}

/** Replaces values of variables that an old file has by references. Never rejects: a failure is logged. */
export async function replaceStoredValues(path: string, log: Logger): Promise<void> {
  try {
    const file = createSharedAuthFile(path, log)
    if (!file.read().holdsValues) return
    await file.update((current) => ({ ...current }))
    log.info(
      { event: 'credentials.values_replaced', path },
      'auth.json had values of variables; it only names them now',
    )
  } catch (error) {
    log.warn(
      { event: 'credentials.values_not_replaced', path, err: error },
      `values of variables may be left in ${path}: ${messageOf(error)}`,
    )
  }
}

function correctMode(path: string, log: Logger): void {
  try {
    if (!makePrivate(path)) return
    log.warn({ event: 'credentials.mode_corrected', path }, 'auth.json was readable by others; only its owner is now')
  } catch (error) {
    log.warn(
      { event: 'credentials.mode_not_corrected', path, err: error },
      `others can read the keys in ${path}, and the gateway cannot change that: make yourself the owner of the file, and run chmod 600`,
    )
  }
}

function tryRead(path: string): AuthFile | HermesError {
  try {
    return readAuthFile(path)
  } catch (error) {
    if (error instanceof HermesError) return error
    throw error
  }
}

function isTransient(content: AuthFile | HermesError): boolean {
  return (
    content instanceof HermesError && ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO'].includes(systemCode(content.cause) ?? '')
  )
}

/** '' for a file that does not exist. Throws `auth/unusable`. */
function versionOf(path: string): string {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    return stats === undefined ? '' : `${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs} ${stats.size}`
  } catch (error) {
    throw unusable(path, messageOf(error), error)
  }
}
