/**
 * The shapes of `/api/channels`.
 */
import { z } from 'zod'
import { cursor, limit, nextCursor } from './pages.ts'

export const channelShape = z.object({
  target: z.string().describe('For `POST /api/send` and `hermes send`.'),
  platform: z.string(),
  account: z.string(),
  chat_id: z.string(),
  thread_id: z.string().nullable(),
  kind: z
    .enum(['home', 'known', 'channel'])
    .describe('The home channel, a chat with a conversation, or a channel that the platform lists.'),
  name: z.string().nullable(),
  connected: z.boolean(),
})
export const channelsQuery = z.strictObject({
  platform: z.string().min(1).max(200).optional(),
  limit,
  cursor: cursor.optional(),
})
export type ChannelsQuery = z.output<typeof channelsQuery>
/** In the order of the targets. */
export const channelsPage = z.object({ channels: z.array(channelShape), next_cursor: nextCursor })
export type ApiChannels = z.output<typeof channelsPage>
