/**
 * Replies that could not be delivered: people see them, and decide.
 */

import { query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { OutboxState } from '../store/schema.ts'
import type { Chat } from './queries.ts'

// Literal for the sake of the partial index; see queries.ts.
const deadCondition = sql<boolean>`state = 'dead'`

/** The newest dead letters first; also for read-only readers of the database. */
export const listDeadLetterRows = query((db, p: { limit: number }) =>
  db
    .selectFrom('outbox')
    .select(['id', 'key', 'platform', 'account', 'chat_id', 'thread_id', 'session_key', 'turn_id', 'kind', 'text'])
    .select(['doubt', 'tries', 'error', 'created_at', 'updated_at'])
    .where(deadCondition)
    .orderBy('id', 'desc')
    .limit(p.limit),
)

export interface DeadLetter {
  readonly id: number
  readonly key: string
  readonly platform: string
  readonly account: string
  readonly chat_id: string
  readonly thread_id: string
  readonly session_key: string | null
  readonly turn_id: string | null
  readonly kind: 'reply' | 'notice'
  readonly text: string
  /** 1: it may have arrived all the same. */
  readonly doubt: number
  readonly tries: number
  /** What the platform said last. */
  readonly error: string | null
  /** ms since 1970. */
  readonly created_at: number
  readonly updated_at: number
}

export function* listDeadLetters(limit: number): Transaction<readonly DeadLetter[]> {
  return yield* rows(listDeadLetterRows, { limit })
}

const requeue = query((db, p: { id: number; now: number }) =>
  db
    .updateTable('outbox')
    .set({
      state: sql<OutboxState>`case when doubt = 1 then 'unknown' else 'queued' end`,
      tries: 0,
      due_at: p.now,
      updated_at: p.now,
    })
    .where('id', '=', p.id)
    .where(deadCondition)
    .returning(['platform', 'account', 'chat_id']),
)

/** Puts a dead letter back in its chat's order and returns the chat; undefined when there is none of this id. */
export function* retryDeadLetter(id: number, now: number): Transaction<Chat | undefined> {
  const found = yield* row(requeue, { id, now })
  return found && { platform: found.platform, account: found.account, chatId: found.chat_id }
}

const markDropped = query((db, p: { id: number; now: number }) =>
  db
    .updateTable('outbox')
    .set({ state: 'dropped', updated_at: p.now })
    .where('id', '=', p.id)
    .where(deadCondition)
    .returning('id'),
)

/** Forgets a dead letter; false when there is none of this id. */
export function* dropDeadLetter(id: number, now: number): Transaction<boolean> {
  return (yield* row(markDropped, { id, now })) !== undefined
}
