/**
 * Dead letters of the outbox: replies that could not be delivered, and what a user can do about them.
 */

import { query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { OutboxState } from '../store/schema.ts'
import { forgetDeadTarget } from './dead-targets.ts'
import type { Chat, OutboxRow } from './queries.ts'

// Literal SQL because of the partial index; see queries.ts.
export const deadCondition = sql<boolean>`state = 'dead'`

/** Dead letters, the newest first. Read-only readers of the database use it as well. */
export const listDeadLetterRows = query((db, p: { limit: number }) =>
  db
    .selectFrom('outbox')
    .select(['id', 'key', 'platform', 'account', 'chat_id', 'thread_id', 'session_key', 'turn_id', 'kind', 'text'])
    .select(['doubt', 'tries', 'error', 'created_at', 'updated_at'])
    .where(deadCondition)
    .orderBy('id', 'desc')
    .limit(p.limit),
)

type MessageColumn = 'platform' | 'account' | 'chat_id' | 'thread_id' | 'session_key' | 'turn_id' | 'kind' | 'text'

/** `doubt` is 1 if the platform may have received it. */
export interface DeadLetter extends Pick<OutboxRow, 'id' | 'key' | MessageColumn | 'doubt' | 'tries'> {
  /** The last error of the platform. */
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

/** Puts a dead letter back to its position and returns its chat; `undefined` when no dead letter has this id. */
export function* retryDeadLetter(id: number, now: number): Transaction<Chat | undefined> {
  const requeued = yield* row(requeue, { id, now })
  if (requeued === undefined) return undefined
  const chat = { platform: requeued.platform, account: requeued.account, chatId: requeued.chat_id }
  yield* forgetDeadTarget(chat)
  return chat
}

const markDropped = query((db, p: { id: number; now: number }) =>
  db
    .updateTable('outbox')
    .set({ state: 'dropped', updated_at: p.now })
    .where('id', '=', p.id)
    .where(deadCondition)
    .returning('id'),
)

/** Gives a dead letter up for good; false when no dead letter has this id. */
export function* dropDeadLetter(id: number, now: number): Transaction<boolean> {
  return (yield* row(markDropped, { id, now })) !== undefined
}
