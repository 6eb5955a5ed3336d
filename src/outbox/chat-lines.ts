/**
 * What was answered in a chat, for pages that show it again.
 */
import { query, rows, type UseCase } from '../store/query.ts'
import type { Chat } from './queries.ts'

/** A stretch of a chat's time, both ends included, ms; and from which end its lines are counted. */
interface Span {
  readonly since: number
  readonly until: number
  readonly from: 'oldest' | 'newest'
  readonly limit: number
}

type SpanParams = { platform: string; account: string; chat_id: string; since: number; until: number; limit: number }

const linesFrom = (direction: 'asc' | 'desc') =>
  query((db, p: SpanParams) =>
    db
      .selectFrom('outbox')
      .select(['id', 'text', 'kind', 'turn_id', 'created_at'])
      .where('platform', '=', p.platform)
      .where('account', '=', p.account)
      .where('chat_id', '=', p.chat_id)
      .where('created_at', '>=', p.since)
      .where('created_at', '<=', p.until)
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
export function* messagesOfChat(
  { platform, account, chatId }: Chat,
  { from, ...span }: Span,
): UseCase<readonly ChatLine[]> {
  return yield* rows(lines[from], { platform, account, chat_id: chatId, ...span })
}
