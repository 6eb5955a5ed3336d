/**
 * Reads a database of another program. The files of that program are only copied: opening them, even for reading, would create files
 * beside them and take locks on them.
 */
import { constants, copyFileSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { withStoreErrors } from './connection.ts'

export interface ForeignDatabase {
  /** The names of the columns; empty for a table that does not exist, and for a view, whose query may have no end. */
  columns(table: string): ReadonlySet<string>
  /** Throws `store/…`. */
  rows(sql: string, ...values: SQLInputValue[]): readonly Readonly<Record<string, unknown>>[]
  /** Removes the copy as well. */
  close(): void
}

/** The other program writes all the time. */
export class DatabaseInUseError extends Error {
  constructor() {
    super('it changed while it was copied; stop the program that uses it and try again')
    this.name = 'DatabaseInUseError'
  }
}

const maxTries = 5

/**
 * @param directory where the copy is kept; created, and removed by `close`
 * Throws `DatabaseInUseError`, `store/…` for a damaged file, and system errors.
 */
export function openForeignDatabase(path: string, directory: string): ForeignDatabase {
  const remove = () => rmSync(directory, { recursive: true, force: true })
  remove()
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  try {
    const db = withStoreErrors(() => new DatabaseSync(copyWhole(path, directory)))
    // Functions in the schema of a stranger could have effects.
    withStoreErrors(() => db.exec('pragma trusted_schema = off'))
    return {
      columns: (table) =>
        withStoreErrors(
          () =>
            new Set(
              db
                .prepare(
                  "select info.name from pragma_table_list(?1) as list, pragma_table_info(?1) as info where list.schema = 'main' and list.type = 'table'",
                )
                .all(table)
                .map((row) => String(row['name'])),
            ),
        ),
      rows: (sql, ...values) => withStoreErrors(() => db.prepare(sql).all(...values)),
      close() {
        db.close()
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

/** What SQLite writes: the database, and the changes that are not in it yet. The names must fit each other. */
const suffixes = ['', '-wal', '-journal'] as const

/** A copy of a moment: no file has changed meanwhile. */
function copyWhole(path: string, directory: string): string {
  const target = join(directory, 'copy.db')
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const before = stateOf(path)
    for (const suffix of suffixes) {
      rmSync(`${target}${suffix}`, { force: true })
      if (statSync(`${path}${suffix}`, { throwIfNoEntry: false }) === undefined) continue
      copyFileSync(`${path}${suffix}`, `${target}${suffix}`, constants.COPYFILE_FICLONE)
    }
    if (before === stateOf(path)) return target
  }
  throw new DatabaseInUseError()
}

function stateOf(path: string): string {
  return suffixes
    .map((suffix) => statSync(`${path}${suffix}`, { bigint: true, throwIfNoEntry: false }))
    .map((stats) => (stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`))
    .join('\n')
}
