/**
 * Who wrote last in a conversation.
 */
import type { SessionSource } from '../message/source.ts'
import { query, row, type UseCase } from '../store/query.ts'

const findSource = query((db, p: { key: string }) =>
  db.selectFrom('lanes').select('source').where('session_key', '=', p.key),
)

/** Undefined for a conversation that does not exist. */
export function* sourceOfLane(key: string): UseCase<SessionSource | undefined> {
  const found = yield* row(findSource, { key })
  if (found === undefined) return undefined
  const source: SessionSource = JSON.parse(found.source)
  return source
}
