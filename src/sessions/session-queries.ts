/**
 * Queries that show sessions: lists and single sessions. The command line runs them on a read-only connection.
 */
import type { Spent } from '../lib/format-cost.ts'
import { query } from '../store/query.ts'

export const sessionById = query((db, p: { id: string }) =>
  db.selectFrom('sessions').selectAll().where('id', '=', p.id),
)

/** Finds the newest session of a key. */
export const sessionByKey = query((db, p: { key: string }) =>
  db.selectFrom('sessions').selectAll().where('session_key', '=', p.key).orderBy('created_at', 'desc').limit(1),
)

/** Includes superseded messages; a summary follows the messages that it replaces. */
export const messagesOfSession = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages')
    .leftJoin('texts', 'texts.id', 'messages.text_id')
    .select([
      'ord',
      'role',
      'content',
      'texts.body',
      'tool_calls',
      'tool_name',
      'created_at',
      'superseded',
      'is_summary',
    ])
    .where('session_id', '=', p.session_id)
    .orderBy('ord')
    .orderBy('messages.id'),
)

export const countMessages = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages')
    .select((count) => count.fn.countAll<number>().as('count'))
    .where('session_id', '=', p.session_id),
)

interface SessionTotals {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost: number
  readonly priced_tokens: number
}

/** What a session has cost. The prices of sessions of earlier versions are not known. */
export function spentInSession({ input_tokens, output_tokens, cost, priced_tokens }: SessionTotals): Spent {
  const tokens = input_tokens + output_tokens
  return { tokens, unpricedTokens: tokens - priced_tokens, cost }
}
