/**
 * Finds a conversation as people name it.
 */
import { sessionById, sessionByKey } from '../../sessions/session-queries.ts'
import type { StoreReader } from '../../store/sqlite/reader.ts'

/** A session by its id, or the newest one of a key. Throws `store/…`. */
export function findSession(reader: StoreReader, name: string) {
  return reader.rows(sessionById, { id: name })[0] ?? reader.rows(sessionByKey, { key: name })[0]
}
