/**
 * Copies the database before a migration, because an older version of the gateway cannot open the result.
 */

import { closeSync, openSync, renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { syncPath } from '../../lib/files.ts'

/**
 * Writes `<path>.bak` (0600), which replaces the copy before an earlier migration, and returns its path. The copy is
 * completely on disk when this returns. Throws errors of SQLite and of the file system.
 */
export function backUpDatabase(db: DatabaseSync, path: string): string {
  const backup = `${path}.bak`
  const unfinished = `${backup}.tmp`
  rmSync(unfinished, { force: true })
  try {
    // SQLite writes into an empty file and keeps its permissions.
    closeSync(openSync(unfinished, 'ax', 0o600))
    db.prepare('vacuum into ?').run(unfinished)
    syncPath(unfinished)
    renameSync(unfinished, backup)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
  return backup
}

/** Writes a copy (0600) of a database, which may be in use. `target` must not exist. Throws errors of SQLite and of the file system. */
export function copyDatabase(path: string, target: string): void {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    closeSync(openSync(target, 'ax', 0o600))
    db.prepare('vacuum into ?').run(target)
  } finally {
    db.close()
  }
}
