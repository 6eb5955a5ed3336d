/**
 * Creates empty databases of the newest schema. The migrations run once per process; each database is a copy of the result.
 * On a two-core machine, a database then opens in 0.4 instead of 3 ms of CPU time.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/store/sqlite/open-database.ts'

let content: Buffer | undefined

/** Throws if the file exists. */
export function writeMigratedDatabase(path: string): void {
  content ??= migrate()
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' })
}

function migrate(): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'hermes-schema-'))
  try {
    const path = join(directory, 'state.db')
    // The last connection that closes moves the write-ahead log into the file.
    openDatabase(path).close()
    return readFileSync(path)
  } finally {
    rmSync(directory, { recursive: true })
  }
}
