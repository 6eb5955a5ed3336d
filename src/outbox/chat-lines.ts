/**
 * What was answered in a chat, for pages that show it again.
 */
import { query, rows, type UseCase } from '../store/query.ts'
import type { Chat } from './queries.ts'

const linesOfChat = query(
  (db, p: { platform: string; account: string; chat_id: string; since: number; limit: number }) =>
    db
      .selectFrom('outbox')
      .select(['id', 'text', 'kind', 'turn_id', 'created_at'])
      .where('platform', '=', p.platform)
      .where('account', '=', p.account)
      .where('chat_id', '=', p.chat_id)
      .where('created_at', '>=', p.since)
      .where('state', '!=', 'dropped')
      .orderBy('id', 'desc')
      .limit(p.limit),
)

export interface ChatLine {
  readonly id: number
  readonly text: string
  readonly kind: 'reply' | 'notice'
  readonly turn_id: string | null
  readonly created_at: number
}

/** The answers of a chat since `since` (ms), newest first. */
export function* messagesOfChat(
  { platform, account, chatId }: Chat,
  since: number,
  limit: number,
): UseCase<readonly ChatLine[]> {
  return yield* rows(linesOfChat, { platform, account, chat_id: chatId, since, limit })
}
