/**
 * What is asked of Telegram. Deletions exist in no update: the Bot API tells of none.
 */
export const allowedUpdates = [
  'message',
  'edited_message',
  'channel_post',
  'edited_channel_post',
  'callback_query',
  'message_reaction',
] as const
