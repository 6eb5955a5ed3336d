/**
 * The shapes of what happens now: open turns, queues, and the health of the platforms.
 */
import { z } from 'zod'
import { platformHealth } from './common.ts'
import { chat, cursor, limit, nextCursor, time } from './pages.ts'

export const turnShape = z.object({
  id: z.string(),
  session_key: z.string(),
  session_id: z.string(),
  ...chat,
  user_name: z.string().nullable(),
  title: z.string(),
  model: z.string(),
  state: z.enum(['running', 'waiting']),
  tool: z.string().nullable().describe('The tool that runs now.'),
  is_stopping: z.boolean(),
  outage_since: time.nullable().describe('Since when the provider of the model has not answered.'),
  started_at: time,
})

export const queueShape = z.object({
  open: z.int().describe('What waits or is being processed.'),
  dead: z.int().describe('Dead letters.'),
  oldest_at: time.nullable().describe('Since when the oldest one waits.'),
})

export const nowResponse = z.object({
  platforms: z.array(
    platformHealth.extend({
      name: z.string(),
      last_event_at: time.nullable().describe('The last use of a conversation.'),
    }),
  ),
  turns: z.array(turnShape).describe('The oldest first, at most 200.'),
  messages: queueShape,
  replies: queueShape,
})
export type ApiNow = z.output<typeof nowResponse>

export const queueQuery = z.strictObject({
  of: z.enum(['messages', 'replies']).default('messages'),
  state: z.enum(['open', 'dead']).default('dead'),
  limit,
  cursor: cursor.optional(),
})
export type QueueQuery = z.output<typeof queueQuery>

export const queueEntry = z.object({
  id: z.int().describe('For `/api/inbox/retry` and `/api/inbox/drop`, or the same of `/api/outbox`.'),
  platform: z.string(),
  chat_id: z.string(),
  session_key: z.string().nullable(),
  text: z.string().describe('The beginning of the message.'),
  state: z.string(),
  tries: z.int(),
  reason: z.string().nullable(),
  at: time,
})
export const queueResponse = z.object({ entries: z.array(queueEntry), next_cursor: nextCursor })
export type ApiQueue = z.output<typeof queueResponse>
