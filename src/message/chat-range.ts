/**
 * A stretch of a chat, as inbox and outbox both look it up.
 */
/** A time in ms and a row of that moment. */
export interface ChatPosition {
  readonly at: number
  readonly row: number
}

/** Everything between two places, without the places themselves; `from` says at which end the lines are counted. */
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

/** A span as the parameters of a query. */
export type ChatRangeParams = {
  platform: string
  account: string
  chat_id: string
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
  const ends = { after_at: after.at, after_row: after.row, before_at: before.at, before_row: before.row }
  return { platform, account, chat_id: chatId, ...ends, limit }
}
