/**
 * The replies of a chat, for pages that show its history.
 */
import { type ChatRange, type ChatRangeParams, type ChatRef, chatRangeParams } from '../message/chat-range.ts'
import { query, rows, sql, type Transaction } from '../store/query.ts'
import { rowsOfChat } from './queries.ts'

const historyQuery = (direction: 'asc' | 'desc') =>
  query((db, p: ChatRangeParams) =>
    rowsOfChat(db, p)
      .select(['id', 'key', 'text', 'kind', 'turn_id', 'attachment', 'created_at'])
      .where(sql<boolean>`(created_at, id) > (${p.after_at}, ${p.after_row})`)
      .where(sql<boolean>`(created_at, id) < (${p.before_at}, ${p.before_row})`)
      .where('state', '!=', 'dropped')
      .orderBy('id', direction)
      .limit(p.limit),
  )
const historyQueries = { oldest: historyQuery('asc'), newest: historyQuery('desc') }

export interface ChatHistoryRow {
  readonly id: number
  /** The key of the reply, with the number of the message behind it. */
  readonly key: string
  readonly text: string
  readonly kind: 'reply' | 'notice'
  readonly turn_id: string | null
  /** `StoredAttachment`, JSON. */
  readonly attachment: string | null
  readonly created_at: number
}

/** The replies of a chat within a range, starting at the end that the range names. */
export function* listChatMessages(chat: ChatRef, range: ChatRange): Transaction<readonly ChatHistoryRow[]> {
  return yield* rows(historyQueries[range.from], chatRangeParams(chat, range))
}
