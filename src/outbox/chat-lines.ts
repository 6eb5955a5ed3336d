/**
 * What was answered in a chat, for pages that show it again.
 */
import { query, rows, sql, type UseCase } from '../store/query.ts'
import type { Chat } from './queries.ts'

/** A place in a chat: a time in ms and a row of that moment. */
interface Place {
  readonly at: number
  readonly row: number
}

/** A stretch of a chat without its two ends, and from which end its lines are counted. */
interface Span {
  readonly after: Place
  readonly before: Place
  readonly from: 'oldest' | 'newest'
  readonly limit: number
}

type SpanParams = {
  platform: string
  account: string
  chat_id: string
  after_at: number
  after_row: number
  before_at: number
  before_row: number
  limit: number
}

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
export function* messagesOfChat(
  { platform, account, chatId }: Chat,
  { from, after, before, limit }: Span,
): UseCase<readonly ChatLine[]> {
  return yield* rows(lines[from], {
    platform,
    account,
    chat_id: chatId,
    after_at: after.at,
    after_row: after.row,
    before_at: before.at,
    before_row: before.row,
    limit,
  })
}
