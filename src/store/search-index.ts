/**
 * Indexes for the search what the triggers of the database have not indexed yet (migration 004): they wait for the end of a
 * reply. A person who asks for what was just said must find it.
 */
import { type Query, row, type Transaction } from './query.ts'
import type { Store } from './store.ts'

type NoParameters = Record<never, never>

const waiting = `from messages where id > coalesce((select max(id) from messages_fts_docsize), 0) and content <> ''`

const findWaiting: Query<NoParameters, { id: number }> = {
  build: () => ({ sql: `select id ${waiting} limit 1`, parameters: [] }),
}

/** So few that no turn notices: a row has at most 64 kB. */
const indexOldest: Query<NoParameters, { id: number }> = {
  build: () => ({
    sql: `insert into messages_fts (rowid, content) select id, content ${waiting} order by id limit 20`,
    parameters: [],
  }),
}

/** More than the triggers leave over. Turns that write all the time do not hold up a search. */
const maxBatches = 50

function* indexNext(): Transaction<boolean> {
  if ((yield* row(findWaiting, {})) === undefined) return false
  yield* row(indexOldest, {})
  return true
}

/** Rejects as the store does. */
export async function indexNewMessages(store: Pick<Store, 'run'>): Promise<void> {
  for (let batch = 0; batch < maxBatches; batch++) if (!(await store.run(indexNext))) return
}
