/**
 * Who wrote last in a conversation.
 */
import type { SessionSource } from '../message/source.ts'
import { query, row, type Transaction } from '../store/query.ts'

const selectSource = query((db, p: { key: string }) =>
  db.selectFrom('lanes').select('source').where('session_key', '=', p.key),
)

/** Undefined for a conversation that does not exist. */
export function* findSessionSource(key: string): Transaction<SessionSource | undefined> {
  const found = yield* row(selectSource, { key })
  if (found === undefined) return undefined
  const source: SessionSource = JSON.parse(found.source)
  return source
}
