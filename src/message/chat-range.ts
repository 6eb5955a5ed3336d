/**
 * A range of messages of a chat, shared by the queries of inbox and outbox.
 */

/** A position in a chat: a time in ms and a row at that time. */
export interface ChatPosition {
  readonly at: number
  readonly row: number
}

/** The messages between two positions, exclusive. `limit` counts from the end given by `from`. */
export interface ChatRange {
  readonly after: ChatPosition
  readonly before: ChatPosition
  readonly from: 'oldest' | 'newest'
  readonly limit: number
}

/** A chat of one account; its threads share it. */
export interface ChatRef {
  readonly platform: string
  readonly account: string
  readonly chatId: string
}

/** A chat as query parameters. */
export type ChatParams = { platform: string; account: string; chat_id: string }

/** A range as query parameters. */
export type ChatRangeParams = ChatParams & {
  after_at: number
  after_row: number
  before_at: number
  before_row: number
  limit: number
}

export function chatRangeParams(
  { platform, account, chatId }: ChatRef,
  { after, before, limit }: ChatRange,
): ChatRangeParams {
  const bounds = { after_at: after.at, after_row: after.row, before_at: before.at, before_row: before.row }
  return { platform, account, chat_id: chatId, ...bounds, limit }
}
