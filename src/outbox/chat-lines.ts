/**
 * What was answered in a chat, for pages that show it again.
 */
import { type ChatName, type ChatSpan, type SpanParams, spanParams } from '../message/chat-span.ts'
import { query, rows, sql, type UseCase } from '../store/query.ts'

const linesFrom = (direction: 'asc' | 'desc') =>
  query((db, p: SpanParams) =>
    db
      .selectFrom('outbox')
      .select(['id', 'text', 'kind', 'turn_id', 'created_at'])
      .where('platform', '=', p.platform)
      .where('account', '=', p.account)
      .where('chat_id', '=', p.chat_id)
      .where(sql<boolean>`(created_at, id) > (${p.after_at}, ${p.after_row})`)
      .where(sql<boolean>`(created_at, id) < (${p.before_at}, ${p.before_row})`)
      .where('state', '!=', 'dropped')
      .orderBy('id', direction)
      .limit(p.limit),
  )
const lines = { oldest: linesFrom('asc'), newest: linesFrom('desc') }

export interface ChatLine {
  readonly id: number
  readonly text: string
  readonly kind: 'reply' | 'notice'
  readonly turn_id: string | null
  readonly created_at: number
}

/** The answers of a chat, beginning at the end the span names. */
export function* messagesOfChat(chat: ChatName, span: ChatSpan): UseCase<readonly ChatLine[]> {
  return yield* rows(lines[span.from], spanParams(chat, span))
}
