/**
 * How many replies wait or are dead letters, and since when the oldest one waits.
 */
import { query, row, sql, type Transaction } from '../store/query.ts'
import { deadCondition } from './dead-letters.ts'
import { openCondition } from './queries.ts'

export interface OpenReplies {
  readonly open: number
  readonly dead: number
  /** ms since 1970; null if none waits. */
  readonly oldestAt: number | null
}

const selectOpen = query((db) =>
  db
    .selectFrom('outbox')
    .select([sql<number>`count(*)`.as('open'), sql<number | null>`min(created_at)`.as('oldestAt')])
    .where(openCondition),
)

const countDead = query((db) => db.selectFrom('outbox').select(sql<number>`count(*)`.as('dead')).where(deadCondition))

export function* openReplies(): Transaction<OpenReplies> {
  const open = (yield* row(selectOpen, {})) ?? { open: 0, oldestAt: null }
  return { ...open, dead: (yield* row(countDead, {}))?.dead ?? 0 }
}
