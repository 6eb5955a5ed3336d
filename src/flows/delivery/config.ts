/**
 * The section `send_message` of the configuration: to which chats the agent may send for whom.
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'

const targetsSchema = z.array(z.string().min(1).max(500))

export const deliveryConfig = {
  send_message: z
    .object({
      owner: targetsSchema
        .default(['*'])
        .describe(
          'Where the tool send_message and scheduled jobs may send for owners: `origin` (the chat of the turn), `home` (home channels), `known` (chats in which the person has written), `<platform>`, `<platform>:<chat_id>[:<thread_id>]`, or `*`.',
        ),
      member: targetsSchema
        .default(['origin', 'home', 'known'])
        .describe('As `owner`, for members. Nothing is sent for guests.'),
    })
    .prefault({}),
} as const

export type DeliveryConfig = ConfigOf<typeof deliveryConfig>
