/**
 * How many messages are open, and since when the oldest one is.
 */
import { query, row, sql, type Transaction } from '../store/query.ts'
import { openCondition } from './queries.ts'

export interface OpenMessages {
  readonly count: number
  /** ms since 1970; null if there is none. */
  readonly oldestAt: number | null
}

const selectOpen = query((db) =>
  db
    .selectFrom('inbox')
    .select([sql<number>`count(*)`.as('count'), sql<number | null>`min(accepted_at)`.as('oldestAt')])
    .where(openCondition),
)

export function* openMessages(): Transaction<OpenMessages> {
  return (yield* row(selectOpen, {})) ?? { count: 0, oldestAt: null }
}
