import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import { storeContract } from '../kit/contracts/store.ts'
import { openStore } from '../kit/open-store.ts'

storeContract('SQLite', (t) => {
  const { store, path } = openStore(t)
  return {
    store,
    another: () => {
      const other = createSqliteStore({ path })
      t.after(() => other.close())
      return other
    },
  }
})
