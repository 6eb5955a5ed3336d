/**
 * The inbox's part of the configuration.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

export const inboxConfig = {
  inbox: z
    .object({
      max_message_kb: z.int().min(1).default(1_024).describe('The largest message that is accepted, text and all.'),
    })
    .prefault({}),
} as const

export type InboxConfig = ConfigOf<typeof inboxConfig>
