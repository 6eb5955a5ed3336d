/**
 * A real store on a real file for one test, closed when the test ends.
 */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { tempHome } from './temp-home.ts'

export interface OpenStore {
  readonly store: Store
  /** The database file; a second store or a reader may open it too. */
  readonly path: string
}

/** `path`: a database that exists already; left out, a new one in a folder of its own. */
export function openStore(t: TestContext, path: string = join(tempHome(t), 'state.db')): OpenStore {
  const store = createSqliteStore({ path })
  t.after(() => store.close())
  return { store, path }
}
