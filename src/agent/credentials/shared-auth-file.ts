/**
 * `auth.json` between processes: read again when it has changed, and changed by one process at a time.
 */
import { statSync } from 'node:fs'
import type { Logger } from '../../lib/log.ts'
import { type AuthFile, makePrivate, readAuthFile, writeAuthFile } from './auth-file.ts'
import type { CredentialStateDeps } from './state.ts'

export interface SharedAuthFileDeps {
  readonly path: string
  /** Runs while no other process changes the file. Rejects when the lock cannot be had, and with what `run` throws. */
  withLock<T>(run: () => T): Promise<T>
  readonly log: Logger
}

/** Several changes are made in the order in which they were requested. */
export function createSharedAuthFile(deps: SharedAuthFileDeps): Pick<CredentialStateDeps, 'read' | 'update'> {
  const { path, withLock, log } = deps
  let current: { readonly version: string; readonly file: AuthFile } | undefined
  let last: Promise<unknown> = Promise.resolve()

  function read(): AuthFile {
    const version = versionOf(path)
    if (current?.version !== version) {
      if (makePrivate(path))
        log.warn(
          { event: 'credentials.mode_corrected', path },
          'auth.json was readable by others; only its owner is now',
        )
      current = { version: versionOf(path), file: readAuthFile(path) }
    }
    return current.file
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

/** '' for a file that does not exist. Throws the system's error. */
function versionOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? '' : `${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs} ${stats.size}`
}
