/**
 * Opens a SQLite store in a temporary file. It is closed when the test ends.
 */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { writeMigratedDatabase } from './migrated-database.ts'
import { tempHome } from './temp-home.ts'

export interface OpenStore {
  readonly store: Store
  /** The database file. Other stores and readers may open it too. */
  readonly path: string
}

/** @param path an existing database; default: a new one in a temporary directory */
export function openStore(t: TestContext, path: string = newDatabase(t)): OpenStore {
  const store = createSqliteStore({ path })
  t.after(() => store.close())
  return { store, path }
}

function newDatabase(t: TestContext): string {
  const path = join(tempHome(t), 'state.db')
  writeMigratedDatabase(path)
  return path
}
