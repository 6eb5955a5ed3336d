/**
 * The replies that wait or are dead letters: how many, since when the oldest one waits, and pages of them.
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

/** The newest first, those before a number. The condition is that of a partial index. */
const pageOf = (condition: typeof deadCondition) =>
  query((db, p: { before: number; limit: number }) =>
    db
      .selectFrom('outbox')
      .select(['id', 'platform', 'chat_id', 'session_key', 'text', 'state', 'tries', 'error', 'created_at'])
      .where('id', 'in', (outbox) => outbox.selectFrom('outbox').select('id').where(condition))
      .where('id', '<', p.before)
      .orderBy('id', 'desc')
      .limit(p.limit),
  )

export const pageOfDeadReplies = pageOf(deadCondition)
export const pageOfOpenReplies = pageOf(openCondition)
