/**
 * The home of Hermes Agent has a `state.db`, too. This gateway leaves such a home alone, and says how it is taken over.
 */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { HermesError } from '../../lib/errors.ts'
import { locateProfile, profileHome } from '../../lib/profiles.ts'
import { quotePath } from '../../lib/shell-quote.ts'

/** Throws `store/foreign`. */
export function rejectForeign(db: DatabaseSync, path: string): void {
  if (isForeign(db)) throw foreignHome(dirname(path))
}

/** Hermes Agent has a table of its own for the version. */
function isForeign(db: DatabaseSync): boolean {
  return db.prepare(`select 1 from sqlite_schema where name = 'schema_version'`).get() !== undefined
}

/** Whether the file is a database of Hermes Agent. False for one that is missing or damaged, which has an error of its own. */
export function isForeignDatabaseFile(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    // Otherwise SQLite would create the files of the write-ahead log in the home of another program.
    const file = pathToFileURL(path)
    file.searchParams.set('immutable', '1')
    const db = new DatabaseSync(file, { readOnly: true })
    try {
      return isForeign(db)
    } finally {
      db.close()
    }
  } catch {
    // Where the database is opened for work, the error is reported.
    return false
  }
}

/** Where a home of Hermes Agent is taken over: beside it. */
export function homeBeside(home: string): string {
  const { rootHome, profile } = locateProfile(home)
  return profileHome(`${rootHome}-gateway`, profile)
}

export function foreignHome(home: string): HermesError {
  const [from, to] = [quotePath(home), quotePath(homeBeside(home))]
  return new HermesError('store/foreign', home, {
    hint: `Take it over into a home of its own: \`HERMES_HOME=${to} hermes import hermes ${from}\` (\`hermes setup\` asks and does it). The home of Hermes Agent is only read. From then on use HERMES_HOME=${to}.`,
  })
}
