/**
 * The messages that users wrote in a chat, for pages that show its history.
 */
import { type ChatRange, type ChatRangeParams, type ChatRef, chatRangeParams } from '../message/chat-range.ts'
import { pick, query, rows, sql, type Transaction } from '../store/query.ts'

const chatEventsQuery = (direction: 'asc' | 'desc') =>
  query((db, p: ChatRangeParams) =>
    db
      .selectFrom('inbox')
      .select(['seq', 'payload', 'turn_id', 'accepted_at'])
      .where(({ and }) => and(pick(p, 'platform', 'account', 'chat_id')))
      .where(sql<boolean>`(accepted_at, seq) > (${p.after_at}, ${p.after_row})`)
      .where(sql<boolean>`(accepted_at, seq) < (${p.before_at}, ${p.before_row})`)
      .where('state', '!=', 'dropped')
      // No user wrote these: a reaction belongs to another message, and internal events come from the gateway.
      .where('kind', 'not in', ['reaction', 'internal', 'skipped'])
      .orderBy('seq', direction)
      .limit(p.limit),
  )
const chatEventsQueries = { oldest: chatEventsQuery('asc'), newest: chatEventsQuery('desc') }

/** The messages of a chat within a range, starting at the end that the range names. */
export function* listChatEvents(
  chat: ChatRef,
  range: ChatRange,
): Transaction<readonly { seq: number; payload: string; turn_id: string | null; accepted_at: number }[]> {
  return yield* rows(chatEventsQueries[range.from], chatRangeParams(chat, range))
}
